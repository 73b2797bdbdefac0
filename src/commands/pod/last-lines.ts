/** The last lines of a container are enough to see what it does, or why it exited. */
const tailLines = 5;
const tailBytes = 16 * 1024;
const timeoutMs = 2000;

/** The last lines of the log at this path. Rejects with a file system error. */
export async function lastLines(path: string): Promise<string> {
  const { readLogs } = await import('../../engine/logs/read-logs.ts');
  const pieces: Buffer[] = [];
  const options = { path, tailLines, tailBytes, limitBytes: tailBytes, signal: AbortSignal.timeout(timeoutMs) };
  await readLogs(options, (bytes) => {
    pieces.push(Buffer.from(bytes));
    return Promise.resolve();
  });
  return Buffer.concat(pieces).toString('utf8');
}
