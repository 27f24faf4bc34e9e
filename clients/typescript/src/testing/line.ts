/**
 * What is on its way, in order. It arrives in a microtask, as nothing arrives
 * within the call that sent it on a real socket, or with `flush`.
 */
export class Line {
  readonly #queue: (() => void)[] = [];
  #scheduled = false;
  #flushing = false;

  push(arrive: () => void): void {
    this.#queue.push(arrive);
    if (this.#scheduled) return;
    this.#scheduled = true;
    void Promise.resolve().then(() => {
      this.#scheduled = false;
      this.flush();
    });
  }

  /** Everything arrives now, in the call under way when there is one. */
  flush(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    try {
      for (let arrive; (arrive = this.#queue.shift()); ) arrive();
    } finally {
      this.#flushing = false;
    }
  }
}
