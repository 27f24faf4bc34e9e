/**
 * Something shared that begins with the first who takes it and ends after the
 * last has let go. It ends in a microtask: who lets go and takes it again at
 * once, as every component does under StrictMode, does not end it.
 */
export class Hold {
  #count = 0;
  #begun = false;
  readonly #begin: () => void;
  readonly #end: () => void;

  constructor(begin: () => void, end: () => void) {
    this.#begin = begin;
    this.#end = end;
  }

  /** Takes it; the function that is returned lets go. */
  take(): () => void {
    if (!this.#begun) this.#begin();
    this.#begun = true;
    this.#count++;
    return () => {
      this.#count--;
      void Promise.resolve().then(() => {
        if (this.#count > 0 || !this.#begun) return;
        this.#begun = false;
        this.#end();
      });
    };
  }
}
