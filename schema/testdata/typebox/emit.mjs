// Prints one schema, written once, as both TypeBox lines emit it:
// {"a": document of 0.34, "b": document of 1.x, "module": …}. JSON has no
// undefined, so a constructor that one line lacks is written out by hand.
import { Type as A } from '@sinclair/typebox'
import B from 'typebox'

const bytes = (Type) => Type.Uint8Array ? Type.Uint8Array() : Type.Unsafe({ type: 'Uint8Array' })
const nullable = (Type, schema) => Type.Union([schema, Type.Null()])

function source(Type) {
  const Side = Type.Union([Type.Literal('buy'), Type.Literal('sell')])
  const Tag = Type.Enum({ Hot: 'hot', New: 'new', Sale: 'sale' }, { description: 'shown beside the name' })
  const Customer = Type.Object({
    id: Type.String({ format: 'uuid' }),
    name: Type.String({ minLength: 1, title: 'Name' }),
    vip: Type.Boolean(),
    rating: Type.Number({ minimum: 0, maximum: 5, default: 0 }),
  }, { additionalProperties: false, description: 'who buys' })
  const Line = Type.Object({ sku: Type.String(), qty: Type.Integer(), tags: Type.Array(Tag) })
  const Order = Type.Object({
    orderId: Type.String(),
    customer: Customer,
    billing: Type.Optional(Customer),
    previous: nullable(Type, Customer),
    lines: Type.Array(Line, { minItems: 1 }),
    side: Side,
    lastSide: Type.Optional(nullable(Type, Side)),
    note: Type.Optional(Type.String()),
    seq: Type.BigInt(),
    photo: Type.Optional(bytes(Type)),
    signature: Type.String({ contentEncoding: 'base64' }),
    priority: Type.Union([Type.Literal(1), Type.Literal(2), Type.Literal(3)]),
    factor: Type.Union([Type.Literal(0.5), Type.Literal(1)]),
    always: Type.Literal(true),
    state: Type.Union([Type.Literal('in-progress'), Type.Literal('+1'), Type.Literal('')]),
    only: Type.Literal('one'),
    discounts: Type.Array(Type.Number()),
    flags: nullable(Type, Type.Array(Type.Boolean())),
    felt: nullable(Type, Type.Integer()),
    maybe: Type.Union([Type.String(), Type.Null(), Type.Undefined()]),
    oldStyle: Type.Unsafe({ type: ['number', 'null'] }),
    address: Type.Object({
      street: Type.String(),
      geo: Type.Object({ lon: Type.Number(), lat: Type.Number() }),
    }),
    template: Type.TemplateLiteral([Type.Literal('user-'), Type.String()]),
  }, { $id: 'Order' })
  return {
    package: 'shop',
    schemas: { Side, Tag, Customer, Line, Order },
    events: {
      order: Order,
      customer: Customer,
      'order.closed': Type.Object({ orderId: Type.String(), by: Customer }, { 'x-nova': { delivery: 'must' } }),
      subset: Type.Object(Type.Pick(Order, ['orderId', 'side']).properties),
      partial: Type.Partial(Type.Object({ a: Type.String(), b: Type.Integer() })),
    },
    calls: { getOrder: { request: Type.Object({ orderId: Type.String() }), response: Order }, ping2: { request: Type.Object({}) } },
    controlEvents: { audit: Type.Object({ who: Type.String() }) },
  }
}

// A Module names its members in 0.34 and is inlined in 1.x; with the members
// named once more under schemas both say the same.
function modules(Type, pick) {
  const module = Type.Module({
    Q: Type.Object({ s: Type.String() }),
    P: Type.Object({ qs: Type.Array(Type.Ref('Q')), last: Type.Optional(Type.Ref('Q')) }),
  })
  return { package: 'shop', schemas: module, events: { p: pick(module, 'P'), q: pick(module, 'Q') } }
}

console.log(JSON.stringify({
  a: source(A),
  b: source(B),
  moduleA: modules(A, (module, name) => module.Import(name)),
  moduleB: modules(B, (module, name) => module[name]),
}))
