/**
 * Scripted faults: rules that say which call of a port goes wrong, and how. A rule looks at the calls it matches only, so
 * what else is called does not change which call it means.
 */
export interface FaultRule<Operation extends string, Subject, Action> {
  readonly on: Operation | readonly Operation[];
  /** Which of the matching calls is the first to go wrong, counted from 1. Default 1. */
  readonly nth?: number;
  /** How many matching calls in a row go wrong. Default 1; Infinity for all from then on. */
  readonly times?: number;
  readonly where?: (subject: Subject) => boolean;
  readonly action: Action;
}

interface CountedRule<Operation extends string, Subject, Action> {
  readonly rule: FaultRule<Operation, Subject, Action>;
  matched: number;
}

export class FaultPlan<Operation extends string, Subject, Action> {
  readonly #rules: CountedRule<Operation, Subject, Action>[] = [];

  constructor(rules: readonly FaultRule<Operation, Subject, Action>[]) {
    for (const rule of rules) this.add(rule);
  }

  add(rule: FaultRule<Operation, Subject, Action>): void {
    this.#rules.push({ rule, matched: 0 });
  }

  clear(): void {
    this.#rules.length = 0;
  }

  /** The action for this call, if any; every matching rule counts it, the first that is due acts. */
  next(operation: Operation, subject: Subject): Action | undefined {
    let due: Action | undefined;
    for (const counted of this.#rules) {
      const { on, nth = 1, times = 1, where, action } = counted.rule;
      const matches = (typeof on === 'string' ? on === operation : on.includes(operation)) && (where?.(subject) ?? true);
      if (!matches) continue;
      counted.matched++;
      if (due === undefined && counted.matched >= nth && counted.matched < nth + times) due = action;
    }
    return due;
  }

  /** True when every rule with a finite number of faults has used them up: the test met the faults it scripted. */
  get exhausted(): boolean {
    return this.#rules.every(({ rule, matched }) => rule.times === Infinity || matched >= (rule.nth ?? 1) + (rule.times ?? 1) - 1);
  }
}

/** Where a call waits until the test lets it go. */
export class Gate {
  /** Resolves when the first call has arrived. */
  readonly reached: Promise<void>;
  readonly #released: Promise<void>;
  #arrive!: () => void;
  #release!: () => void;

  constructor() {
    this.reached = new Promise((resolve) => (this.#arrive = resolve));
    this.#released = new Promise((resolve) => (this.#release = resolve));
  }

  /** Lets every waiting and every later call go. */
  release(): void {
    this.#release();
  }

  /** Called by the fault wrapper. */
  async pass(): Promise<void> {
    this.#arrive();
    await this.#released;
  }
}
