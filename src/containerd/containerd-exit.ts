/** How a containerd ended that we started; neither is known of one that could not be executed, or that we adopted. */
export interface ContainerdEnd {
  readonly code: number | undefined;
  readonly signal: string | undefined;
}

export interface ContainerdExit extends ContainerdEnd {
  readonly pid: number;
  /** What it said last. */
  readonly lastLines: readonly string[];
}

/** Why a containerd that we started is not there. */
export function describeEnd({ code, signal }: ContainerdEnd): string {
  if (code !== undefined) return `it ended with exit code ${String(code)}`;
  return signal === undefined ? 'it could not be executed' : `it was ended by ${signal}`;
}

/** Why it ended, as the last line of its log says it; one that was killed says nothing of that. */
export function said({ code = 0, lastLines }: ContainerdExit): { said?: string } {
  const last = lastLines.at(-1);
  return code === 0 || last === undefined ? {} : { said: last };
}
