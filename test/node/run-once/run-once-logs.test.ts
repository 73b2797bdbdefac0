import { appendFileSync, renameSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { podRef } from '../../../src/api/values/pod-names.ts';
import { containerLogsDirectory } from '../../../src/engine/container/log-paths.ts';
import { RunOnceLogs } from '../../../src/node/run-once/run-once-logs.ts';
import { makeAPIContainerStatus, makeContainer, makePod } from '../../builders/pods.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { untilFilesRest } from '../../support/file-operations.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { FakeView } from '../../tui/fake-terminal.ts';
import { makeSnapshot } from '../../tui/make-snapshot.ts';

/** No interrupt and no time-out. */
const never = new AbortController().signal;

const entry = (line: string): string => `2026-03-01T10:00:00.000000000Z stdout F ${line}\n`;

const containersOf = (...names: string[]) => names.map((name) => makeContainer({ name }));

/** Shows the output of one container, without prefixes. */
async function oneLog(given?: Writable) {
  const pod = makePod({ spec: { containers: containersOf('app') } });
  const podLogsDir = await temporaryFolder();
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const clock = new FakeClock();
  const logs = new RunOnceLogs({ pods: [pod], podLogsDir, stdout: given ?? stdout, stderr, isColoured: false, clock });
  const view = new FakeView(makeSnapshot());
  logs.follow(view);
  const folder = containerLogsDirectory(podLogsDir, pod.metadata, 'app');
  const ended = { state: { terminated: { exitCode: 0 } } };
  return {
    logs,
    clock,
    folder,
    stdout,
    stderr,
    ended: { ...pod, status: { containerStatuses: [makeAPIContainerStatus({ name: 'app', ...ended })] } },
    write: async (file: string, line: string): Promise<void> => {
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, file), entry(line));
    },
    died: () => {
      view.emit({ at: 0, type: 'ContainerDied', pod: podRef(pod), id: 'app', containerName: 'app', exitCode: 128 });
    },
    shown: async (): Promise<string> => {
      await logs.end(never);
      stdout.end();
      return text(stdout);
    },
  };
}

/** What is shown of containers that each wrote one line to both streams. */
async function shownOf(initContainers: readonly string[], containers: readonly string[]) {
  const pod = makePod({
    spec: { initContainers: containersOf(...initContainers), containers: containersOf(...containers) },
  });
  const podLogsDir = await temporaryFolder();
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const logs = new RunOnceLogs({ pods: [pod], podLogsDir, stdout, stderr, isColoured: false, clock: new FakeClock() });
  const view = new FakeView(makeSnapshot());
  logs.follow(view);
  for (const name of [...initContainers, ...containers]) {
    const folder = containerLogsDirectory(podLogsDir, pod.metadata, name);
    await mkdir(folder, { recursive: true });
    const on = (stream: string): string => `2026-03-01T10:00:00.000000000Z ${stream} F ${name} on ${stream}\n`;
    await writeFile(join(folder, '0.log'), on('stdout') + on('stderr'));
    view.emit({ at: 0, type: 'ContainerDied', pod: podRef(pod), id: name, containerName: name, exitCode: 0 });
  }
  await logs.end(never);
  for (const stream of [stdout, stderr]) stream.end();
  const linesOf = async (stream: PassThrough): Promise<string[]> => (await text(stream)).trimEnd().split('\n').sort();
  return { stdout: await linesOf(stdout), stderr: await linesOf(stderr) };
}

test('lines of the only container are unchanged, those of init containers begin with pod and container', async () => {
  expect(await shownOf(['setup'], ['app'])).toEqual({
    stdout: ['[pod/web-node1/setup] setup on stdout', 'app on stdout'],
    stderr: ['[pod/web-node1/setup] setup on stderr', 'app on stderr'],
  });
});

test('lines of several containers begin with pod and container', async () => {
  expect((await shownOf([], ['a', 'b'])).stdout).toEqual([
    '[pod/web-node1/a] a on stdout',
    '[pod/web-node1/b] b on stdout',
  ]);
});

test('a container whose first run left no log is shown when the next one has ended', async () => {
  const { write, died, shown } = await oneLog();
  died();
  await untilFilesRest();
  await write('1.log', 'second');
  died();
  expect(await shown()).toBe('second\n');
});

test('a container whose start and end were not noticed is shown', async () => {
  const { logs, write, shown } = await oneLog();
  await write('0.log', 'done');
  logs.followAll();
  expect(await shown()).toBe('done\n');
});

test('a container that is followed is shown once', async () => {
  const { logs, write, died, shown } = await oneLog();
  await write('0.log', 'done');
  died();
  logs.followAll();
  expect(await shown()).toBe('done\n');
});

/** A pod whose container ended, with a log of two files that its reader has not read. */
async function unreadLog() {
  const log = await oneLog();
  await log.write('0.log.20260301-100000', 'first '.repeat(10_000));
  await log.write('0.log', 'last');
  log.died();
  onTestFinished(async () => {
    log.stdout.resume();
    await log.logs.end(never);
  });
  return log;
}

test('the rotated files of an ended container are shown before the logs may be deleted', async () => {
  const { logs, ended, folder, stdout } = await unreadLog();
  const steps: string[] = [];
  const deleted = logs.shown([ended], { interrupted: never, timedOut: never }).then(async () => {
    steps.push('delete');
    await rm(folder, { recursive: true });
  });
  await untilFilesRest();
  steps.push('read');
  const isRead = text(stdout);
  await deleted;
  await logs.end(never);
  stdout.end();
  expect({ steps, output: await isRead }).toEqual({
    steps: ['read', 'delete'],
    output: `${'first '.repeat(10_000)}\nlast\n`,
  });
});

/** What was done after the first time that files rest, and after the limit of a reader. */
async function doneAtLimit(clock: FakeClock, work: Promise<unknown>): Promise<[unknown, unknown]> {
  let done: unknown = 'not yet';
  const noted = work.then((result) => {
    done = result;
  });
  await untilFilesRest();
  await clock.advance(4999);
  const before = done;
  await clock.advance(1);
  await noted;
  return [before, done];
}

test('an interrupt ends the wait before a removal for a reader that does not read', async () => {
  const { logs, ended } = await unreadLog();
  const interrupted = AbortSignal.abort(new Error('interrupted'));
  await expect(logs.shown([ended], { interrupted, timedOut: never })).resolves.toBeUndefined();
});

test('the time-out ends the wait before a removal for a reader that does not read, five seconds later', async () => {
  const { logs, ended, clock } = await unreadLog();
  const shown = logs.shown([ended], { interrupted: never, timedOut: AbortSignal.abort() });
  // Before that it looks for writers of the log among all processes.
  while (clock.pending === 0) await nextTurn();
  expect(await doneAtLimit(clock, shown)).toEqual(['not yet', undefined]);
});

test('a run that is cut gives a reader that does not read five seconds', async () => {
  const { logs, clock, stderr } = await unreadLog();
  const cut = new AbortController();
  const isShown = logs.end(cut.signal);
  await untilFilesRest();
  await clock.advance(60_000);
  cut.abort();
  expect(await doneAtLimit(clock, isShown)).toEqual(['not yet', false]);
  stderr.end();
  expect(await text(stderr)).toBe('warning: the output of containers was cut off, because nothing reads it\n');
});

test('a run that is cut shows the rest to a reader that reads', async () => {
  const { logs, stdout } = await unreadLog();
  const isRead = text(stdout);
  expect(await logs.end(AbortSignal.abort())).toBe(true);
  stdout.end();
  expect(await isRead).toBe(`${'first '.repeat(10_000)}\nlast\n`);
});

/** A reader that takes the output only after `release`. For each piece `meanwhile` is called. */
function slowReader(meanwhile: (piece: number) => void) {
  const pieces: string[] = [];
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const stdout = new Writable({
    write(bytes: Buffer, _encoding, taken) {
      pieces.push(bytes.toString());
      meanwhile(pieces.length);
      void released.then(() => {
        taken();
      });
    },
  });
  return { stdout, release, output: () => pieces.join('') };
}

/** A container that would end in time for a test that waits for it. */
const maxPieces = 200;

test('at the end of the run, a container that writes faster than it is read is shown up to there', async () => {
  const reader = slowReader((piece) => {
    if (piece < maxPieces) appendFileSync(join(log.folder, '0.log'), entry(`after piece ${piece}`));
  });
  const log = await oneLog(reader.stdout);
  await log.write('0.log', 'first');
  log.died();
  await untilFilesRest();
  const isShown = log.logs.end(never);
  reader.release();
  expect([await isShown, reader.output()]).toEqual([true, 'first\nafter piece 1\n']);
});

test('rotations and restarts after the end of the run are not shown, those before it are', async () => {
  const reader = slowReader((piece) => {
    if (piece === 1 || piece >= maxPieces) return;
    const path = join(log.folder, '0.log');
    renameSync(path, `${path}.20260301-11${String(1000 + piece)}`);
    appendFileSync(path, entry(`rotated at ${piece}`));
    appendFileSync(join(log.folder, '2.log'), entry(`restarted again at ${piece}`));
  });
  const log = await oneLog(reader.stdout);
  await log.write('0.log.20260301-100000', 'rotated');
  log.died();
  await untilFilesRest();
  await log.write('0.log.20260301-101000', 'rotated next');
  await log.write('0.log', 'last');
  await log.write('1.log', 'restarted');
  const isShown = log.logs.end(never);
  await untilFilesRest();
  reader.release();
  expect([await isShown, reader.output()]).toEqual([true, 'rotated\nrotated next\nlast\nrestarted\n']);
});
