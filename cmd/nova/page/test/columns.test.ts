import { expect, test } from "vitest";
import { columnsOf, geographyOf, textOf, valueAt } from "../src/columns.ts";
import { parseFilter } from "../src/filter.ts";
import { readLayout } from "./flatc.ts";

const columns = columnsOf(readLayout("seismic"), "Earthquake");
const quake = {
  id: "uw61345682", mag: 0.31, place: "37km NNE of Amboy, Washington", time: 1517363399650, felt: null, status: "reviewed",
  tsunami: false, sources: ["uw", "us"], location: { longitude: -122.197, latitude: 46.2035, depth: 3.28 },
};

test("nested objects become columns", () => {
  const labels = columns.map((c) => c.label);
  expect(labels.slice(0, 3)).toEqual(["id", "mag", "place"]);
  expect(labels.slice(-3)).toEqual(["location.longitude", "location.latitude", "location.depth"]);
});

test("texts of values", () => {
  const text = (label: string) => {
    const c = columns.find((c) => c.label === label)!;
    return textOf(valueAt(quake, c.path), c.field);
  };
  expect(text("time")).toBe("2018-01-31 01:49:59");
  expect(text("felt")).toBe("");
  expect(text("sources")).toBe("uw, us");
  expect(text("location.latitude")).toBe("46.2035");
  expect(textOf("hush", { name: "s", json: "s", kind: "string", secret: true })).toBe("***");
});

test("longitude, latitude and magnitude are found", () => {
  const g = geographyOf(columns);
  expect([g?.longitude.label, g?.latitude.label, g?.size?.label]).toEqual(["location.longitude", "location.latitude", "mag"]);
  expect(geographyOf(columnsOf(readLayout("market"), "Quote"))).toBeUndefined();
});

test.each([
  ["", true],
  ["amboy WASHINGTON", true],
  ["amboy nevada", false],
  ["mag>0.3", true],
  ["mag>0.31", false],
  ["mag>=0.31 mag<1", true],
  ["status=reviewed", true],
  ["status=automatic", false],
  ["depth>3", true],
  ["location.depth<3", false],
  ["felt>0", false],
  ["nofield>3", false],
  ["sources=us", false],
  ["us", true],
])("filter %j", (text, want) => {
  expect(parseFilter(text, columns)(quake)).toBe(want);
});
