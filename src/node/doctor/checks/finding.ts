/** Result of one look: `unseen` if this user or this machine does not let us look. */
export type Level = 'ok' | 'warning' | 'problem' | 'unseen';

/** A result with its evidence and how to fix it. */
export interface Verdict {
  level: Level;
  evidence: string;
  /** A command or one sentence a line. */
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

/** The verdicts on a fact, or one that says why the fact is missing. */
export function onFact<T>(fact: Fact<T>, decide: (value: T) => Verdict[]): Verdict[] {
  return 'value' in fact ? decide(fact.value) : [unseen(fact.unseen)];
}
