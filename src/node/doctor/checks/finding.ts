/** Result of a check. `unseen` if this user or this machine does not allow it. */
export type Level = 'ok' | 'warning' | 'problem' | 'unseen';

/** A result with its evidence and its fix. */
export interface Verdict {
  level: Level;
  evidence: string;
  /** One command or sentence per line. */
  fix?: string;
}

/** A verdict with the name of its check. */
export interface Finding extends Verdict {
  check: string;
}

/** A fact of the machine, or why it could not be read. */
export type Fact<T> = { value: T } | { unseen: string };

export const ok = (evidence: string): Verdict => ({ level: 'ok', evidence });
export const warning = (evidence: string, fix: string): Verdict => ({ level: 'warning', evidence, fix });
export const problem = (evidence: string, fix: string): Verdict => ({ level: 'problem', evidence, fix });
export const unseen = (evidence: string): Verdict => ({ level: 'unseen', evidence });

/** The verdicts on a fact, or one that says why the fact could not be read. */
export function onFact<T>(fact: Fact<T>, decide: (value: T) => Verdict[]): Verdict[] {
  return 'value' in fact ? decide(fact.value) : [unseen(fact.unseen)];
}
