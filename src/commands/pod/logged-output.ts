import type { Writable } from 'node:stream';
import { writeFully } from '../../cri/streaming/write-fully.ts';
import { readLogs } from '../../engine/logs/read-logs.ts';
import { UserError } from '../../errors.ts';
import { visible } from '../../text/visible-text.ts';

interface Streams {
  stdout: Writable;
  stderr: Writable;
}

/** The output of one instance of a container in its log. Each call prints only what the calls before did not print. */
export class LoggedOutput {
  private readonly printedBytes = { stdout: 0, stderr: 0 };

  /** `path`: `ContainerStatus.logPath`, empty for a runtime without log files. */
  constructor(private readonly path: string) {}

  /**
   * Prints up to the end of the log, or, with `finished`, up to the end that the log has once that is aborted. Prints a
   * warning if the log cannot be read.
   */
  async print(streams: Streams, finished?: AbortSignal): Promise<void> {
    if (this.path === '') return;
    const warn = (problem: string): void => {
      streams.stderr.write(`warning: ${visible(problem)}\n`);
    };
    const readBytes = { stdout: 0, stderr: 0 };
    const follow = finished === undefined ? {} : { follow: true, finished };
    try {
      await readLogs({ path: this.path, onProblem: warn, ...follow }, async (bytes, stream) => {
        const rest = bytes.subarray(Math.max(0, this.printedBytes[stream] - readBytes[stream]));
        readBytes[stream] += bytes.length;
        this.printedBytes[stream] += rest.length;
        if (rest.length > 0) await writeFully(streams[stream], rest);
      });
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      warn(error.message);
    }
  }
}
