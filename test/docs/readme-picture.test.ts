import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { ManifestProblem } from '../../src/engine/view/events.ts';
import { runScreen } from '../../src/tui/screen.ts';
import { FakeCommands, FakeProcess, FakeStdin, FakeStdout, FakeView, ScreenClock } from '../tui/fake-terminal.ts';
import { makeEntry, makeSnapshot, noon } from '../tui/make-snapshot.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

test('the picture of the screen in the README is what the screen shows', async () => {
  const [, picture = ''] = /^```\n(kubelet-ts edge1 [^]*?)\n```$/m.exec(readme) ?? [];
  expect(picture.split('\n')).toEqual(await screenOfFourPods());
});

/** A node at noon: three pods run, one crashes, and one of their manifests is broken. */
async function screenOfFourPods(): Promise<string[]> {
  const crashing = makeEntry('uploader-edge1', {
    containerState: { waiting: { reason: 'CrashLoopBackOff' } },
    container: {
      restartCount: 1,
      lastState: {
        terminated: {
          exitCode: 1,
          startedAt: secondsBefore(6),
          finishedAt: secondsBefore(4),
          containerID: 'containerd://9',
        },
      },
    },
    worker: {
      lastSyncAt: noon - 3000,
      lastSyncMs: 15,
      nextSyncAt: noon + 6000,
      lastSyncError: 'startContainer main: CrashLoopBackOff',
    },
  });
  const pods = [
    makeEntry('sensor-edge1'),
    crashing,
    makeEntry('web-edge1', { worker: { lastSyncMs: 3 } }),
    makeEntry('etcd-edge1', { namespace: 'kube-system', worker: { lastSyncMs: 4 } }),
  ];
  const problems: ManifestProblem[] = [
    {
      origin: 'broken.yaml',
      line: 7,
      column: 7,
      field: 'spec.containers[0].image',
      severity: 'error',
      message: 'Required value: must be set',
    },
    {
      origin: 'broken.yaml',
      line: 8,
      column: 7,
      field: 'spec.containers[0].imagee',
      severity: 'warning',
      message: 'Unknown field "imagee" is ignored',
      hint: 'Did you mean "image"?',
    },
  ];
  const sources = [{ source: 'file' as const, where: '/manifests', ready: true, pods: pods.length, problems }];
  const view = new FakeView(makeSnapshot(pods, { sources }));
  const clock = new ScreenClock(noon);
  const stdout = new FakeStdout(110, 17);
  const shown = runScreen({
    view,
    stdout,
    stdin: new FakeStdin().asReadStream(),
    commands: new FakeCommands(),
    onLeave: () => undefined,
    clock,
    guarded: new FakeProcess(),
    logFile: '/var/lib/kubelet-ts/kubelet-ts.log',
  });
  const uploader = { namespace: 'default', name: 'uploader-edge1', uid: 'uid-uploader-edge1' };
  const main = { pod: uploader, containerName: 'main' };
  const recorded = { type: 'Recorded', eventType: 'Normal', pod: uploader } as const;
  view.emit(
    { at: noon - 7000, type: 'ContainerDied', ...main, id: 'bee4b525137a1', exitCode: 1 },
    {
      at: noon - 6000,
      ...recorded,
      reason: 'Pulled',
      message: 'main: Container image "localhost/busybox:1" already present on machine',
    },
    { at: noon - 6000, ...recorded, reason: 'Created', message: 'main: Created container: main' },
    { at: noon - 6000, ...recorded, reason: 'Started', message: 'main: Started container main' },
    { at: noon - 6000, type: 'ContainerStarted', ...main, id: '983d84a75f7ee' },
    { at: noon - 4000, type: 'ContainerDied', ...main, id: '983d84a75f7ee', exitCode: 1 },
    {
      at: noon - 4000,
      ...recorded,
      reason: 'BackOff',
      message: 'main: Back-off restarting failed container main in pod uploader-edge1',
    },
  );
  await clock.advance(300);
  const screen = stdout.screen();
  shown.unmount();
  return screen;
}

const secondsBefore = (seconds: number): string => new Date(noon - seconds * 1000).toISOString();
