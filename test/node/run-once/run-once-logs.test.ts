import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { podRef } from '../../../src/api/values/pod-names.ts';
import { containerLogsDirectory } from '../../../src/engine/container/log-paths.ts';
import { RunOnceLogs } from '../../../src/node/run-once/run-once-logs.ts';
import { makeAPIContainerStatus, makeContainer, makePod } from '../../builders/pods.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { untilFilesRest } from '../../file-operations.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { FakeView } from '../../tui/fake-terminal.ts';
import { makeSnapshot } from '../../tui/make-snapshot.ts';

const containersOf = (...names: string[]) => names.map((name) => makeContainer({ name }));

/** Shows the output of one container, without prefixes. */
async function oneLog() {
  const pod = makePod({ spec: { containers: containersOf('app') } });
  const podLogsDir = await temporaryFolder();
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const logs = new RunOnceLogs({ pods: [pod], podLogsDir, stdout, stderr, isColoured: false, clock: new FakeClock() });
  const view = new FakeView(makeSnapshot());
  logs.follow(view);
  const folder = containerLogsDirectory(podLogsDir, pod.metadata, 'app');
  const ended = { state: { terminated: { exitCode: 0 } } };
  return {
    logs,
    folder,
    stdout,
    ended: { ...pod, status: { containerStatuses: [makeAPIContainerStatus({ name: 'app', ...ended })] } },
    write: async (file: string, line: string): Promise<void> => {
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, file), `2026-03-01T10:00:00.000000000Z stdout F ${line}\n`);
    },
    died: () => {
      view.emit({ at: 0, type: 'ContainerDied', pod: podRef(pod), id: 'app', containerName: 'app', exitCode: 128 });
    },
    shown: async (): Promise<string> => {
      await logs.end();
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
    const entry = (stream: string): string => `2026-03-01T10:00:00.000000000Z ${stream} F ${name} on ${stream}\n`;
    await writeFile(join(folder, '0.log'), entry('stdout') + entry('stderr'));
    view.emit({ at: 0, type: 'ContainerDied', pod: podRef(pod), id: name, containerName: name, exitCode: 0 });
  }
  await logs.end();
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
  return log;
}

test('the rotated files of an ended container are shown before the logs may be deleted', async () => {
  const { logs, ended, folder, stdout } = await unreadLog();
  const steps: string[] = [];
  const deleted = logs.shown([ended], new AbortController().signal).then(async () => {
    steps.push('delete');
    await rm(folder, { recursive: true });
  });
  await untilFilesRest();
  steps.push('read');
  const isRead = text(stdout);
  await deleted;
  await logs.end();
  stdout.end();
  expect({ steps, output: await isRead }).toEqual({
    steps: ['read', 'delete'],
    output: `${'first '.repeat(10_000)}\nlast\n`,
  });
});

test('an interrupt ends the wait for a reader that does not read', async () => {
  const { logs, ended } = await unreadLog();
  await expect(logs.shown([ended], AbortSignal.abort(new Error('interrupted')))).resolves.toBeUndefined();
});
