/** A containerd release. `text` is as the program prints it, such as `1.6.20~ds1`. */
export interface ContainerdVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  readonly text: string;
}

/**
 * Parses the output of `containerd --version`: `containerd <package> <version> <revision>`. Builds differ in everything
 * except the order. Returns undefined for other output.
 */
export function parseContainerdVersion(output: string): ContainerdVersion | undefined {
  const text = /^containerd\s+\S+\s+(\S+)/.exec(output.trim())?.[1];
  if (text === undefined) return undefined;
  const [, major, minor, patch] = /^v?(\d+)\.(\d+)(?:\.(\d+))?/.exec(text) ?? [];
  if (major === undefined) return undefined;
  return { major: Number(major), minor: Number(minor), patch: Number(patch ?? 0), text };
}

/** True if `version` is `major.minor` or newer. */
export function isAtLeast(version: Pick<ContainerdVersion, 'major' | 'minor'>, major: number, minor: number): boolean {
  return version.major > major || (version.major === major && version.minor >= minor);
}
