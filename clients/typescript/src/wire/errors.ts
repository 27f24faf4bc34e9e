/** Why a frame is undecodable before its payload is read. */
export type FrameCause = "short" | "version" | "size";

/** The envelope of a frame is wrong; `reason` tells the causes apart. */
export class FrameError extends Error {
  override readonly name = "FrameError";
  constructor(readonly reason: FrameCause, message: string) {
    super(message);
  }
}

/** A received FlatBuffer is malformed. */
export class DecodeError extends Error {
  override readonly name = "DecodeError";
  /**
   * @param path where in the value, e.g. `positions[3].symbol`; "" = the root
   * @param reason what is wrong there
   */
  constructor(readonly path: string, readonly reason: string) {
    super("malformed payload: " + at(path) + reason);
  }
}

/** A value does not fit its schema and was not encoded. */
export class EncodeError extends Error {
  override readonly name = "EncodeError";
  /**
   * @param path where in the value, e.g. `positions[3].quantity`; "" = the root
   * @param reason what is wrong there and what to write instead
   */
  constructor(readonly path: string, readonly reason: string) {
    super(at(path) + reason);
  }
}

function at(path: string): string {
  return path && `${path}: `;
}
