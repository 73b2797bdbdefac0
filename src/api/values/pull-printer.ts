/** What the printer needs to know of a pull; the engine's `PullSnapshot` fits. */
export interface PrintedPull {
  readonly receivedBytes: number;
  /** Absent: nobody knows. */
  readonly totalBytes?: number;
}

/** How far a pull has come: `71% 12.3/17.4 MB`, or `12.3 MB` when its end is not known. */
export function pullText({ receivedBytes, totalBytes }: PrintedPull): string {
  if (totalBytes === undefined) return `${inMegabytes(receivedBytes)} MB`;
  const percent = Math.floor((100 * receivedBytes) / totalBytes);
  return `${percent}% ${inMegabytes(receivedBytes)}/${inMegabytes(totalBytes)} MB`;
}

const inMegabytes = (bytes: number): string => (bytes / 1_000_000).toFixed(1);
