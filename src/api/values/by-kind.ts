import type { LifecycleHandler, Probe, Volume } from 'kubernetes-types/core/v1.js';

/** The kinds of a volume, by field. A volume has one of them. */
export type VolumeSources = Omit<Volume, 'name'>;
/** The kinds of a probe. */
export type ProbeHandlers = Omit<Probe, `${string}Seconds` | `${string}Threshold`>;
/** The kinds of a lifecycle hook. */
export type HookHandlers = LifecycleHandler;

/** One function for each field of `Kinds`: a kind without one does not compile. */
export type ByKind<Kinds, Args extends readonly unknown[], Result> = {
  readonly [Kind in keyof Kinds]-?: (source: NonNullable<Kinds[Kind]>, ...args: Args) => Result;
};

/** Calls the function of the first kind of the table that the object has. Returns undefined if it has none. */
export function byKind<Kinds extends object, Args extends readonly unknown[], Result>(
  object: Kinds,
  table: ByKind<Kinds, Args, Result>,
  ...args: Args
): Result | undefined {
  for (const kind of Object.keys(table) as (keyof Kinds)[]) {
    const source = object[kind];
    if (source !== undefined && source !== null) return table[kind](source, ...args);
  }
  return undefined;
}
