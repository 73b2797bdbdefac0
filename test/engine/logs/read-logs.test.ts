import { execFileSync } from 'node:child_process';
import { appendFile, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, test } from 'vitest';
import { readLogTail } from '../../../src/engine/logs/read-log-tail.ts';
import { readLogs, type ReadLogsOptions } from '../../../src/engine/logs/read-logs.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let directory: string;
let path: string;

beforeEach(async () => {
  directory = join(await temporaryFolder(), 'app');
  await mkdir(directory);
  path = join(directory, '0.log');
});

const entry = (text: string, { tag = 'F', stream = 'stdout', second = 0 } = {}): string =>
  `2024-05-06T07:08:${String(second).padStart(2, '0')}.000000000Z ${stream} ${tag} ${text}\n`;

async function read(options: Partial<ReadLogsOptions> = {}): Promise<string> {
  const parts: Buffer[] = [];
  await readLogs({ path, ...options }, (bytes) => {
    parts.push(bytes);
    return Promise.resolve();
  });
  return Buffer.concat(parts).toString('latin1');
}

describe('a log that is read once', () => {
  test('gives what the container wrote, with the parts of a line joined', async () => {
    await writeFile(path, entry('one') + entry('tw', { tag: 'P' }) + entry('', { tag: 'P' }) + entry('o') + entry(''));
    expect(await read()).toBe('one\ntwo\n\n');
  });

  test('tells the streams apart and keeps their order', async () => {
    await writeFile(path, entry('a') + entry('b') + entry('c', { stream: 'stderr' }) + entry('d'));
    const seen: string[] = [];
    await readLogs({ path }, (bytes, stream) => {
      seen.push(`${stream}: ${bytes.toString()}`);
      return Promise.resolve();
    });
    expect(seen).toEqual(['stdout: a\nb\n', 'stderr: c\n', 'stdout: d\n']);
  });

  test('gives all bytes of a log of many blocks', async () => {
    const lines = Array.from({ length: 5000 }, (_, index) => `${String(index)} ${'x'.repeat(index % 300)}`);
    await writeFile(path, lines.map((line) => entry(line)).join(''));
    expect(await read()).toBe(lines.map((line) => `${line}\n`).join(''));
  });

  test('includes an entry whose end is still missing', async () => {
    await writeFile(path, entry('whole') + entry('half').trimEnd());
    expect(await read()).toBe('whole\nhalf');
  });

  test('shows the last lines only, each part of a line counted', async () => {
    await writeFile(path, entry('a') + entry('b', { tag: 'P' }) + entry('c') + entry('d'));
    expect(await read({ tailLines: 2 })).toBe('c\nd\n');
    expect(await read({ tailLines: 0 })).toBe('');
  });

  test('counts no damaged line among the last ones', async () => {
    // The tail is found by line ends, so the line without one comes in addition, as in the kubelet.
    await writeFile(path, entry('a') + entry('b') + 'damaged\n' + entry('c').trimEnd());
    expect([await read({ tailLines: 2 }), await read({ tailLines: 3 })]).toEqual(['b\nc', 'a\nb\nc']);
  });

  test('leaves out entries before a time', async () => {
    await writeFile(path, entry('old', { second: 1 }) + entry('at', { second: 2 }) + entry('new', { second: 3 }));
    expect(await read({ sinceMs: Date.UTC(2024, 4, 6, 7, 8, 2) })).toBe('at\nnew\n');
  });

  test('compares times to the nanosecond', async () => {
    const at = (fraction: string): string => `2024-05-06T07:08:02.${fraction}Z stdout F ${fraction}\n`;
    await writeFile(path, at('123456789') + at('12345679') + at('1234568') + at('124'));
    const sinceMs = Date.UTC(2024, 4, 6, 7, 8, 2, 123);
    expect([await read({ sinceMs, sinceExtraNs: 456_790 }), await read({ sinceMs, sinceExtraNs: 456_791 })]).toEqual([
      '12345679\n1234568\n124\n',
      '1234568\n124\n',
    ]);
  });

  test('takes a line of one stream for a continuation after a part of the other, as the kubelet does', async () => {
    const parts = [entry('a', { tag: 'P' }), entry('b', { tag: 'P', stream: 'stderr' }), entry('c')];
    await writeFile(path, parts.join('') + entry('d', { stream: 'stderr', second: 4 }));
    expect(await read({ stream: 'stderr', timestamps: true })).toBe('b2024-05-06T07:08:04.000000000Z d\n');
  });

  test('puts the time before each line, not before each part', async () => {
    await writeFile(path, entry('a', { tag: 'P', second: 1 }) + entry('b', { second: 2 }) + entry('c', { second: 3 }));
    expect(await read({ timestamps: true })).toBe(
      '2024-05-06T07:08:01.000000000Z ab\n2024-05-06T07:08:03.000000000Z c\n',
    );
  });

  test('looks for the last lines in so many bytes at the end and no further', async () => {
    await writeFile(path, `${entry('far')}${'x'.repeat(300_000)}\n${entry('near')}`);
    expect(await read({ tailLines: 10, tailBytes: 100_000 })).toBe('near\n');
    await writeFile(path, 'x'.repeat(300_000));
    expect(await read({ tailLines: 10, tailBytes: 100_000 })).toBe('');
  });

  test('has an end of bounded lines and bytes', async () => {
    await writeFile(path, Array.from({ length: 100 }, (_, i) => entry(`${i} ${'z'.repeat(16_000)}`)).join(''));
    const ends = await Promise.all(
      [
        { maxLines: 2, maxBytes: 40_000 },
        { maxLines: 80, maxBytes: 20_000 },
        { maxLines: 80, maxBytes: 5 },
      ].map((limits) => readLogTail(path, limits)),
    );
    const last = `99 ${'z'.repeat(16_000)}\n`;
    const all = `97 ${'z'.repeat(16_000)}\n98 ${'z'.repeat(16_000)}\n${last}`;
    expect(ends.map((end) => Buffer.from(end).toString())).toEqual([
      all.slice(-2 * last.length),
      all.slice(-20_000),
      'zzzz\n',
    ]);
  });

  test('has an end that is searched in the last 256 KiB', async () => {
    const tail = async (padding: number): Promise<string> => {
      await writeFile(path, `${entry('far')}${'x'.repeat(padding)}\n${entry('near')}`);
      return Buffer.from(await readLogTail(path, { maxLines: 80, maxBytes: 2048 })).toString();
    };
    expect([await tail(250_000), await tail(270_000)]).toEqual(['far\nnear\n', 'near\n']);
  });

  test('ends where the log ended at the start, so a container that writes faster cannot hold it up', async () => {
    await writeFile(path, entry('one'));
    let text = '';
    await readLogs({ path }, async (bytes) => {
      text += bytes.toString();
      await appendFile(path, entry('more'));
    });
    expect(text).toBe('one\n');
  });

  test('may be behind a link', async () => {
    await writeFile(join(directory, 'store'), entry('kept elsewhere'));
    await symlink('store', path);
    expect(await read()).toBe('kept elsewhere\n');
  });

  test('keeps a MiB of an entry that has no end', async () => {
    await writeFile(path, entry('y'.repeat(5 * 1024 * 1024)) + entry('next'));
    const [first = '', ...rest] = (await read()).split('\n');
    expect({ first: first.length, rest }).toEqual({ first: 1024 * 1024, rest: ['next', ''] });
  });

  test('is not waited for when it is a named pipe, nor is what it is rotated to', async () => {
    execFileSync('mkfifo', [path]);
    const refusal = `${path} is a named pipe, not a regular file`;
    await expect(read()).rejects.toThrow(refusal);
    await expect(read({ follow: true })).rejects.toThrow(refusal);
    expect(await readLogTail(path, { maxLines: 10, maxBytes: 100 })).toEqual(new Uint8Array());
    await rm(path);
    await writeFile(path, entry('one'));
    execFileSync('mkfifo', [join(directory, '1.log')]);
    await expect(read({ follow: true })).rejects.toThrow(join(directory, '1.log is a named pipe'));
  });

  test('stops at a number of bytes, times included', async () => {
    await writeFile(path, entry('abc') + entry('def'));
    expect(await read({ limitBytes: 6 })).toBe('abc\nde');
    expect(await read({ limitBytes: 32, timestamps: true })).toBe('2024-05-06T07:08:00.000000000Z a');
  });

  test('leaves out a damaged line, but says so when the first line is not a log line', async () => {
    await writeFile(path, `${entry('a')}\0\0\0\n${entry('b')}`);
    expect(await read()).toBe('a\nb\n');
    await writeFile(path, 'hello\n');
    await expect(read()).rejects.toThrow(`${path}: the first line is neither in CRI nor in Docker JSON log format`);
  });

  test('says that a log file is missing', async () => {
    await expect(read()).rejects.toThrow(`the log file ${path} does not exist`);
    await expect(read({ follow: true })).rejects.toThrow(`the log file ${path} does not exist`);
  });
});

describe('a log with rotated files', () => {
  const first = '20240506-070800';
  const second = '20240506-070900';

  /** `a` and `b` in a compressed file, `c` and `d` in an uncompressed one, `e` in the log. */
  async function rotatedLog(): Promise<void> {
    await writeFile(`${path}.${first}.gz`, gzipSync(entry('a') + entry('b')));
    await writeFile(`${path}.${second}`, entry('c') + entry('d'));
    await writeFile(path, entry('e'));
  }

  test('is read from the oldest on', async () => {
    await rotatedLog();
    await writeFile(`${path}.note`, 'other\n');
    await writeFile(join(directory, `1.log.${first}`), entry('other'));
    expect(await read()).toBe('a\nb\nc\nd\ne\n');
  });

  test('has last lines in as many files as needed', async () => {
    await rotatedLog();
    const tails = await Promise.all([0, 1, 2, 3, 4, 5, 6].map((tailLines) => read({ tailLines })));
    expect(tails.map((text) => text.replaceAll('\n', ''))).toEqual(['', 'e', 'de', 'cde', 'bcde', 'abcde', 'abcde']);
  });

  test('has the lines since a time, and a number of bytes, from the oldest file on', async () => {
    await writeFile(`${path}.${first}.gz`, gzipSync(entry('a', { second: 1 }) + entry('b', { second: 2 })));
    await writeFile(`${path}.${second}`, entry('c', { second: 3 }));
    await writeFile(path, entry('d', { second: 4 }));
    const sinceMs = Date.parse('2024-05-06T07:08:02Z');
    expect([await read({ sinceMs }), await read({ limitBytes: 5 })]).toEqual(['b\nc\nd\n', 'a\nb\nc']);
  });

  test('has last lines also while the log itself is empty', async () => {
    await rotatedLog();
    await writeFile(path, '');
    expect([await read({ tailLines: 1 }), await read({ tailLines: 3 })]).toEqual(['d\n', 'b\nc\nd\n']);
  });

  test('has last lines of a failed container in the newest rotated file, while the log is missing', async () => {
    await rotatedLog();
    await rm(path);
    const tail = async (maxLines: number): Promise<string> =>
      Buffer.from(await readLogTail(path, { maxLines, maxBytes: 100 })).toString();
    expect([await tail(1), await tail(80)]).toEqual(['d\n', 'c\nd\n']);
  });

  test('has last lines that are looked for in so many bytes of all files', async () => {
    await writeFile(`${path}.${first}`, entry('farther'));
    await writeFile(`${path}.${second}`, `${entry('far')}${'x'.repeat(300_000)}\n${entry('near')}`);
    expect(await read({ tailLines: 10, tailBytes: 100_000 })).toBe('near\n');
    await writeFile(path, entry('nearest'));
    expect(await read({ tailLines: 10, tailBytes: 100_000 })).toBe('near\nnearest\n');
  });

  test('is read once where a file was being compressed', async () => {
    await rotatedLog();
    await writeFile(`${path}.${second}.gz`, gzipSync(entry('c') + entry('d')));
    await writeFile(`${path}.${second}.gz.tmp`, 'half');
    expect(await read()).toBe('a\nb\nc\nd\ne\n');
  });

  test('is read while it is missing, because it is being rotated', async () => {
    await rotatedLog();
    await rm(path);
    expect(await read()).toBe('a\nb\nc\nd\n');
    const log = follow({ tailLines: 1 });
    await log.seen('d\n');
    await appendFile(`${path}.${second}`, entry('late'));
    await log.seen('late\n');
    await writeFile(path, entry('new'));
    await log.seen('new\n');
    log.finish();
    expect(await log.done).toBe('d\nlate\nnew\n');
  });

  test('is read without the rest of a damaged file, which is said', async () => {
    await rotatedLog();
    const packed = gzipSync(entry('a') + entry('b'.repeat(5000)));
    await writeFile(`${path}.${first}.gz`, packed.subarray(0, -20));
    const problems: string[] = [];
    const onProblem = (problem: string): void => {
      problems.push(problem);
    };
    expect(await read({ onProblem })).toBe('a\nc\nd\ne\n');
    await writeFile(`${path}.${first}.gz`, 'no gzip file');
    expect(await read({ onProblem, tailLines: 10 })).toBe('c\nd\ne\n');
    expect(problems).toEqual(
      ['unexpected end of file', 'incorrect header check'].map(
        (reason) => `${path}.${first}.gz is damaged, the rest of it is left out: ${reason}`,
      ),
    );
  });

  test('is read without what is not a regular file', async () => {
    await rotatedLog();
    await rm(`${path}.${first}.gz`);
    execFileSync('mkfifo', [`${path}.${first}.gz`]);
    await rm(`${path}.${second}`);
    await symlink('/etc/hostname', `${path}.${second}`);
    expect(await read()).toBe('e\n');
  });

  test('is unpacked no further than its reader takes it', async () => {
    const [line, mebibyte] = [entry('y'.repeat(1000)), 1 << 20];
    await writeFile(`${path}.${first}.gz`, gzipSync(Buffer.from(line.repeat((64 * mebibyte) / line.length))));
    await writeFile(path, '');
    const held = (): number => process.memoryUsage().arrayBuffers;
    let grown: number | undefined;
    const before = held();
    await readLogs({ path, limitBytes: mebibyte }, async () => {
      for (let turn = 0; turn < 100; turn++) await setImmediate();
      grown ??= held() - before;
    });
    expect(grown).toBeLessThan(16 * mebibyte);
  });

  test('is read without the rest of a compressed line that has no end', async () => {
    await rotatedLog();
    await writeFile(`${path}.${first}.gz`, gzipSync(Buffer.concat([Buffer.from(entry('a')), Buffer.alloc(64 << 20)])));
    expect(await read({ tailLines: 10 })).toBe('a\nc\nd\ne\n');
  });

  test('is read across restarts, those of each instance first', async () => {
    await rotatedLog();
    const log = follow();
    await log.seen('e\n');
    await writeFile(join(directory, `1.log.${second}.gz`), gzipSync(entry('f')));
    await log.seen('f\n');
    await writeFile(join(directory, '1.log'), entry('g'));
    await log.seen('g\n');
    log.finish();
    expect(await log.done).toBe('a\nb\nc\nd\ne\nf\ng\n');
  });
});

/** Follows `path` and lets a test wait until so much was seen. */
function follow(options: Partial<ReadLogsOptions> = {}): {
  seen: (text: string) => Promise<void>;
  finish: () => void;
  done: Promise<string>;
} {
  const finished = new AbortController();
  let text = '';
  let check = (): void => undefined;
  const done = readLogs({ path, follow: true, finished: finished.signal, ...options }, (bytes) => {
    text += bytes.toString();
    check();
    return Promise.resolve();
  }).then(() => text);
  const seen = (wanted: string): Promise<void> =>
    Promise.race([
      new Promise<void>((resolve) => {
        check = () => {
          if (text.includes(wanted)) resolve();
        };
        check();
      }),
      done.then((all) => {
        expect(all).toContain(wanted);
      }),
    ]);
  return {
    seen,
    finish: () => {
      finished.abort();
    },
    done,
  };
}

describe('a log that is followed', () => {
  test('shows lines as they are written, the last one read after the container finished', async () => {
    await writeFile(path, entry('first'));
    const log = follow();
    await log.seen('first\n');
    await appendFile(path, entry('second'));
    await log.seen('second\n');
    await appendFile(path, entry('last'));
    log.finish();
    expect(await log.done).toBe('first\nsecond\nlast\n');
  });

  test('waits for the rest of an entry', async () => {
    const [start, rest] = [entry('in two').slice(0, 40), entry('in two').slice(40)];
    await writeFile(path, entry('a') + start);
    const log = follow();
    await log.seen('a\n');
    await appendFile(path, rest + entry('b'));
    await log.seen('b\n');
    log.finish();
    expect(await log.done).toBe('a\nin two\nb\n');
  });

  test('begins with the tail', async () => {
    await writeFile(path, entry('a') + entry('b'));
    const log = follow({ tailLines: 1 });
    await log.seen('b\n');
    await appendFile(path, entry('c') + entry('d'));
    await log.seen('d\n');
    log.finish();
    expect(await log.done).toBe('b\nc\nd\n');
  });

  test('goes on over a rotation, with what was still written to the file that was renamed', async () => {
    await writeFile(path, entry('a'));
    const log = follow();
    await log.seen('a\n');
    const rotated = `${path}.20240506-070809`;
    await rename(path, rotated);
    await appendFile(rotated, entry('b'));
    await log.seen('b\n');
    await writeFile(path, '');
    await appendFile(rotated, entry('c'));
    await appendFile(path, entry('d'));
    await log.seen('d\n');
    await appendFile(path, entry('e'));
    await log.seen('e\n');
    log.finish();
    expect(await log.done).toBe('a\nb\nc\nd\ne\n');
  });

  test('continues with the log of the next attempt when the container is restarted', async () => {
    await writeFile(path, entry('attempt 0'));
    const log = follow();
    await log.seen('attempt 0\n');
    await appendFile(path, entry('end of 0'));
    await writeFile(join(directory, '1.log'), entry('attempt 1'));
    await log.seen('attempt 1\n');
    await writeFile(join(directory, '3.log'), entry('attempt 3'));
    await log.seen('attempt 3\n');
    log.finish();
    expect(await log.done).toBe('attempt 0\nend of 0\nattempt 1\nattempt 3\n');
  });

  test('reads a restart that came at the same time as the end', async () => {
    await writeFile(path, entry('attempt 0'));
    const log = follow();
    await log.seen('attempt 0\n');
    await writeFile(join(directory, '1.log'), entry('attempt 1'));
    log.finish();
    expect(await log.done).toBe('attempt 0\nattempt 1\n');
  });

  test('ends with its own instance if only that is wanted, after its rotations', async () => {
    await writeFile(`${path}.20240506-070809`, entry('rotated'));
    await writeFile(path, entry('attempt 0'));
    await writeFile(join(directory, '1.log'), entry('attempt 1'));
    const log = follow({ oneInstance: true });
    await log.seen('attempt 0\n');
    await appendFile(path, entry('end of 0'));
    log.finish();
    const lastCall = AbortSignal.abort();
    expect([await log.done, await read({ follow: true, oneInstance: true, lastCall })]).toEqual([
      'rotated\nattempt 0\nend of 0\n',
      'rotated\nattempt 0\nend of 0\n',
    ]);
  });

  test('of one instance ends when the directory of the log is removed', async () => {
    await writeFile(path, entry('a'));
    const log = follow({ oneInstance: true });
    await log.seen('a\n');
    await rm(directory, { recursive: true });
    expect(await log.done).toBe('a\n');
  });

  test('ends when the directory of the log is removed', async () => {
    await writeFile(path, entry('a'));
    const log = follow();
    await log.seen('a\n');
    await rm(directory, { recursive: true });
    expect(await log.done).toBe('a\n');
  });

  test('ends at a number of bytes, whatever else comes', async () => {
    await writeFile(path, entry('abc'));
    const log = follow({ limitBytes: 6 });
    await log.seen('abc\n');
    await appendFile(path, entry('def'));
    expect(await log.done).toBe('abc\nde');
  });

  test('rejects with the reason of the signal when it is given up', async () => {
    await writeFile(path, entry('a'));
    const controller = new AbortController();
    const log = follow({ signal: controller.signal });
    await log.seen('a\n');
    controller.abort(new Error('enough'));
    await expect(log.done).rejects.toThrow('enough');
  });
});
