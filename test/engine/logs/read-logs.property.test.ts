import fc from 'fast-check';
import { appendFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readLogs, type ReadLogsOptions } from '../../../src/engine/logs/read-logs.ts';
import { rotateLog, tidyRotatedLogs } from '../../../src/engine/logs/rotate-log.ts';
import { propertyRuns, propertyTimeoutMs } from '../../support/property-runs.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** One step of a container, the agent, or a reader. */
type Step =
  | { do: 'write'; lines: number }
  /** The runtime writes these lines after the rename and before it begins the new log. */
  | { do: 'rotate'; late: number }
  | { do: 'fail to rotate'; late: number }
  | { do: 'compress' }
  | { do: 'read'; tailLines: number }
  | { do: 'hold reader' }
  | { do: 'release reader' };

const count = (max: number): fc.Arbitrary<number> => fc.integer({ min: 0, max });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: count(30).map((lines) => ({ do: 'write' as const, lines })) },
  { weight: 3, arbitrary: count(3).map((late) => ({ do: 'rotate' as const, late })) },
  { weight: 1, arbitrary: count(3).map((late) => ({ do: 'fail to rotate' as const, late })) },
  { weight: 3, arbitrary: fc.constant({ do: 'compress' as const }) },
  { weight: 2, arbitrary: count(100).map((tailLines) => ({ do: 'read' as const, tailLines })) },
  { weight: 1, arbitrary: fc.constant({ do: 'hold reader' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'release reader' as const }) },
);

/** A container's log, and what the container wrote. */
class Log {
  readonly path: string;
  readonly lines: string[] = [];
  /** The file that the runtime has open. */
  private written: string;
  private now = Date.UTC(2024, 4, 6);

  constructor(path: string) {
    this.path = path;
    this.written = path;
  }

  async write(lines: number): Promise<void> {
    let text = '';
    for (let index = 0; index < lines; index++) {
      const number = this.lines.length;
      const line = `${number} ${'x'.repeat((number * 37) % 200)}`;
      this.lines.push(`${line}\n`);
      text += `2024-05-06T07:08:09.${String(number).padStart(9, '0')}Z stdout F ${line}\n`;
    }
    await appendFile(this.written, text);
  }

  async rotate(late: number, { fails }: { fails: boolean }): Promise<void> {
    this.now += 1000;
    const { written } = this;
    await rotateLog(this.path, this.now, async () => {
      // The runtime has the file open that was renamed.
      this.written = `${written}.${stamp(this.now)}`;
      await this.write(late);
      this.written = written;
      if (fails) throw new Error('the runtime fails');
      await writeFile(this.path, '');
    }).catch((error: unknown) => {
      if (!fails) throw error;
    });
  }
}

const stamp = (ms: number): string => {
  const local = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000);
  return local
    .toISOString()
    .replace(/[-:]|\..*/g, '')
    .replace('T', '-');
};

async function read(options: ReadLogsOptions): Promise<string> {
  let text = '';
  await readLogs(options, (bytes) => {
    text += bytes.toString();
    return Promise.resolve();
  });
  return text;
}

/** Follows a log, and can be held at the next line. */
class Follower {
  private readonly finished = new AbortController();
  private readonly done: Promise<void>;
  private text = '';
  private held: Promise<void> = Promise.resolve();
  release = (): void => undefined;

  constructor(path: string) {
    this.done = readLogs({ path, follow: true, finished: this.finished.signal }, async (bytes) => {
      this.text += bytes.toString();
      await this.held;
    });
  }

  hold(): void {
    this.release();
    this.held = new Promise((resolve) => {
      this.release = resolve;
    });
  }

  async finish(): Promise<string> {
    this.release();
    this.finished.abort();
    await this.done;
    return this.text;
  }
}

test(
  'readers show every line once and in order, whatever is written, rotated and compressed meanwhile',
  async () => {
    const folder = await temporaryFolder();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const directory = join(await mkdtemp(join(folder, 'log-')), 'app');
        await mkdir(directory);
        const log = new Log(join(directory, '0.log'));
        await writeFile(log.path, '');
        const follower = new Follower(log.path);
        for (const each of steps) {
          if (each.do === 'write') await log.write(each.lines);
          if (each.do === 'rotate') await log.rotate(each.late, { fails: false });
          if (each.do === 'fail to rotate') await log.rotate(each.late, { fails: true });
          if (each.do === 'compress') await tidyRotatedLogs(log.path, 100, new AbortController().signal);
          if (each.do === 'hold reader') follower.hold();
          if (each.do === 'release reader') follower.release();
          if (each.do === 'read') {
            expect(await read({ path: log.path })).toBe(log.lines.join(''));
            const tail = each.tailLines === 0 ? [] : log.lines.slice(-each.tailLines);
            expect(await read({ path: log.path, tailLines: each.tailLines })).toBe(tail.join(''));
          }
        }
        expect(await follower.finish()).toBe(log.lines.join(''));
        await rm(directory, { recursive: true });
      }),
      propertyRuns(60),
    );
  },
  propertyTimeoutMs,
);
