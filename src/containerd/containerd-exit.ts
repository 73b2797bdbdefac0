/** How a containerd that we started exited. Both are undefined if it could not be executed or was adopted. */
export interface ContainerdEnd {
  readonly code: number | undefined;
  readonly signal: string | undefined;
}

export interface ContainerdExit extends ContainerdEnd {
  readonly pid: number;
  /** The last lines of its log. */
  readonly lastLines: readonly string[];
}

/** Describes how a containerd that we started exited. */
export function describeExit({ code, signal }: ContainerdEnd): string {
  if (code !== undefined) return `it exited with code ${String(code)}`;
  return signal === undefined ? 'it could not be executed' : `it was stopped by ${signal}`;
}

/** Returns the reason from the last line of its log. A killed containerd logs none. */
export function lastLogLine({ code = 0, lastLines }: ContainerdExit): { lastLine?: string } {
  const last = lastLines.at(-1);
  return code === 0 || last === undefined ? {} : { lastLine: last };
}
