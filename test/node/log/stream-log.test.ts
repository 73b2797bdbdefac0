import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { buildSync } from 'esbuild';
import { expect, onTestFinished, test } from 'vitest';
import { StreamLog } from '../../../src/node/log/stream-log.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** A pipe, opened by a reader that reads only when it is told to. */
async function openPipe(): Promise<{ fd: number; read: () => string; close: () => void }> {
  const path = join(await temporaryFolder(), 'pipe');
  execFileSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const fd = openSync(path, constants.O_WRONLY);
  let isOpen = true;
  const close = (): void => {
    if (isOpen) closeSync(reader);
    isOpen = false;
  };
  onTestFinished(() => {
    close();
    closeSync(fd);
  });
  const buffer = Buffer.alloc(64 * 1024);
  const read = (): string => {
    try {
      return buffer.toString('utf8', 0, readSync(reader, buffer));
    } catch {
      // Nothing is there.
      return '';
    }
  };
  return { fd, read, close };
}

test('lines that nobody reads wait up to a limit, and a line with the number of the others follows them', async () => {
  const pipe = await openPipe();
  const log = new StreamLog({
    fd: pipe.fd,
    maxBytes: 20_000,
    onDropped: (lines) => {
      log.write(`lost ${lines}\n`);
    },
  });
  const filling = 'x'.repeat(8191);
  // The pipe takes 64 KiB, the log two lines.
  for (let line = 0; line < 13; line += 1) log.write(`${filling}\n`);
  let read = '';
  while (!log.flush()) read += pipe.read();
  log.write('after\n');
  read += pipe.read();
  expect(read.split('\n').map((line) => (line === filling ? 'filling' : line))).toEqual([
    ...Array.from({ length: 10 }, () => 'filling'),
    'lost 3',
    'after',
    '',
  ]);
});

test('a line longer than the pipe is written in parts, in order', async () => {
  const pipe = await openPipe();
  const log = new StreamLog({ fd: pipe.fd, maxBytes: 1024 * 1024, onDropped: () => undefined });
  const long = Array.from({ length: 30_000 }, (_, index) => index).join(' ');
  log.write(`${long}\n`);
  log.write('next\n');
  let read = '';
  while (!log.flush()) read += pipe.read();
  expect(read + pipe.read()).toBe(`${long}\nnext\n`);
});

test('lines of a reader that has ended are dropped', async () => {
  const pipe = await openPipe();
  const lost: number[] = [];
  const log = new StreamLog({ fd: pipe.fd, maxBytes: 100_000, onDropped: (lines) => lost.push(lines) });
  pipe.close();
  log.write('nobody\n');
  expect([log.flush(), lost]).toEqual([true, []]);
});

test('the descriptor of others stays as it is', async () => {
  const pipe = await openPipe();
  expect(new StreamLog({ fd: pipe.fd, maxBytes: 100, onDropped: () => undefined }).flush()).toBe(true);
  const flags = execFileSync('sh', ['-c', 'grep flags /proc/self/fdinfo/3'], {
    stdio: ['ignore', 'pipe', 'ignore', pipe.fd],
  });
  expect(Number.parseInt(flags.toString().split('\t')[1] ?? '', 8) & constants.O_NONBLOCK).toBe(0);
});

/** Logs lines, says so, and ends when it is told to. */
const scriptOf = (count: number): string => `
  import { createLogger } from './create-logger.ts';
  const log = async () => {
    const { logger } = await createLogger('json', 'info');
    for (let line = 0; line < ${count}; line += 1) logger.info({ line }, 'A line');
    process.once('message', () => process.exit(3));
    process.send('logged');
  };
  void log();
`;

/** Both ends of a stream that fd 2 of a program may be. */
async function socketPair(): Promise<{ ours: Socket; theirs: Socket }> {
  const server = createServer().listen(join(await temporaryFolder(), 's'));
  await once(server, 'listening');
  const ours = connect(server.address() as string);
  const [theirs] = (await once(server, 'connection')) as [Socket];
  server.close();
  return { ours, theirs };
}

/** A program that has logged lines, which nobody has read so far. */
async function startLogging(count: number): Promise<{ child: ChildProcess; log: Socket; exited: Promise<unknown> }> {
  const { outputFiles } = buildSync({
    stdin: { contents: scriptOf(count), loader: 'ts', resolveDir: join(import.meta.dirname, '../../../src/node/log') },
    bundle: true,
    platform: 'node',
    write: false,
  });
  const { ours, theirs } = await socketPair();
  const child = spawn(process.execPath, ['-'], { stdio: ['pipe', 'inherit', theirs, 'ipc'] });
  theirs.destroy();
  onTestFinished(() => void child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  child.stdin?.end(outputFiles[0]?.contents);
  expect((await once(child, 'message'))[0]).toBe('logged');
  return { child, log: ours, exited };
}

const linesTo = (count: number): object[] => Array.from({ length: count }, (_, line) => ({ msg: 'A line', line }));

test('a program whose log nobody reads continues, and writes the log when it ends', async () => {
  const { child, log, exited } = await startLogging(8000);
  const read = text(log);
  child.send('end');
  expect(await exited).toEqual([3, null]);
  expect((await read).trimEnd().split('\n').map(parseLine)).toEqual(linesTo(8000));
});

test('a program whose log nobody reads tells the next reader how much is missing', async () => {
  const { log } = await startLogging(20_000);
  const lines: object[] = [];
  for await (const line of createInterface({ input: log })) {
    lines.push(parseLine(line));
    if (line.includes('Dropped log lines')) break;
  }
  const written = lines.slice(0, -1);
  const message = 'Dropped log lines: the log reader is blocked';
  expect(lines).toEqual([...linesTo(written.length), { msg: message, lines: 20_000 - written.length }]);
  expect(written.length).toBeGreaterThan(10_000);
});

/** Without the time and the level. */
function parseLine(entry: string): { msg: string; line?: number; lines?: number } {
  const { msg, line, lines } = JSON.parse(entry) as ReturnType<typeof parseLine>;
  return { msg, ...(line !== undefined && { line }), ...(lines !== undefined && { lines }) };
}
