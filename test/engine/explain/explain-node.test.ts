import { describe, expect, test } from 'vitest';
import { chooseRuntimeEndpoint } from '../../../src/containerd/runtime-endpoint.ts';
import { manifestFinding, runtimeFinding } from '../../../src/engine/explain/explain-node.ts';
import { explainPod } from '../../../src/engine/explain/explain-pod.ts';
import type { HistoryEntry } from '../../../src/engine/history/history-entry.ts';
import { reasons } from '../../../src/engine/view/reasons.ts';
import { makePod, NOW } from '../../builders/pods.ts';

const waysOf = (runtime: { endpoint: string; managed?: boolean; name?: string }) =>
  runtimeFinding({ chosenBecause: '', name: '', version: '', ...runtime }, 'no answer').fixes;

function failedWith(reason: string, message: string): HistoryEntry {
  return { kind: 'event', podUID: '', eventType: 'Warning', reason, message, count: 1, firstAt: NOW, lastAt: NOW };
}

describe('the fixes out fit the container runtime:', () => {
  test.each([
    ['containerd', 'containerd', 'unix:///run/containerd/containerd.sock'],
    ['cri-o', 'crio', 'unix:///run/crio/crio.sock'],
    ['', 'crio', 'unix:///run/crio/crio.sock'],
    ['cri-o', 'crio', 'unix:///opt/own.sock'],
    ['docker', 'cri-docker', 'unix:///var/run/cri-dockerd.sock'],
    ['containerd', 'k3s', 'unix:///run/k3s/containerd/containerd.sock'],
    ['unknown', 'containerd', 'unix:///opt/own.sock'],
  ])('%s runs as service %s on %s', (name, service, endpoint) => {
    expect(waysOf({ name, endpoint })).toEqual([
      `Check it: systemctl status ${service}; journalctl -u ${service}`,
      `Restart it: systemctl restart ${service}`,
    ]);
  });

  test.each([false, true])('the containerd of this program is not a service, recorded: %s', async (recorded) => {
    const probe = () => Promise.resolve({ kind: 'absent' } as const);
    const unreadyBecause = () => Promise.resolve(undefined);
    const place = { rootDir: '/var/lib/our kubelet', recorded };
    const { endpoint, managed } = await chooseRuntimeEndpoint({ ...place, probe, unreadyBecause });
    expect(waysOf({ name: 'containerd', endpoint, managed })).toEqual([
      "Check its log: tail -n 50 '/var/lib/our kubelet/containerd/containerd.log'",
      "kubelet-ts starts it again when it exits. Its pid: cat '/var/lib/our kubelet/containerd/containerd.pid'",
    ]);
  });
});

test.each([
  ['a pod that cannot be ended', { state: 'terminating', lastSyncError: 'no shim' }, []],
  [
    'a sandbox that cannot be made',
    { state: 'sync', lastSyncError: 'create: no shim' },
    [reasons.failedCreatePodSandBox],
  ],
] as const)('%s leads to the log of that runtime', (_what, worker, events) => {
  const runtime = { endpoint: 'unix:///run/crio/crio.sock', chosenBecause: '', name: 'cri-o', version: '1' };
  const fixes = explainPod({
    pod: makePod({ status: { phase: 'Pending' } }),
    worker: { working: false, pending: false, ...worker },
    node: { runtime, pressures: [], sources: [], pods: [] },
    history: events.map((reason) => failedWith(reason, 'create: no shim')),
  }).fixes;
  expect(fixes).toEqual(['Check the log of the container runtime: journalctl -u crio']);
});

test('the command that looks at a path of the host is quoted for a shell', () => {
  const message =
    'MountVolume.SetUp failed for volume "a" : hostPath type check failed: /m/a;reboot is not a directory';
  const fixes = explainPod({
    pod: makePod({ status: { phase: 'Pending' } }),
    worker: { working: false, pending: false, state: 'sync', lastSyncError: message },
    node: { runtime: { endpoint: '', chosenBecause: '', name: '', version: '' }, pressures: [], sources: [], pods: [] },
    history: [failedWith(reasons.failedMount, message)],
  }).fixes;
  expect(fixes[0]).toBe("Check it: ls -ld '/m/a;reboot'");
});

test('the command that checks a manifest is quoted for a shell', () => {
  const problem = { severity: 'error', origin: '/m/a; reboot.yaml', message: 'No list' } as const;
  expect(manifestFinding(problem, []).fixes[1]).toBe("Then check it: kubelet-ts validate '/m/a; reboot.yaml'");
});

describe('a second manifest that declares the pod', () => {
  const runtime = { endpoint: 'unix:///run/crio/crio.sock', chosenBecause: '', name: 'cri-o', version: '1' };
  const causeOf = (status: NonNullable<Parameters<typeof makePod>[0]>['status']): string => {
    const pod = makePod({ status });
    const { namespace, name } = pod.metadata;
    const message = `Pod ${namespace}/${name} is declared by /m/a.yaml already`;
    const problem = { origin: '/m/b.yaml', severity: 'error', message, repeatedPod: { namespace, name } } as const;
    const source = { source: 'file', where: '/m', ready: true, pods: 1, problems: [problem] } as const;
    const sources = [{ ...source, problems: [problem] }];
    return explainPod({ pod, node: { runtime, pressures: [], sources, pods: [] } }).cause;
  };

  test('is the cause only if the pod has no trouble of its own', () => {
    const { name = '' } = makePod().spec.containers[0] ?? {};
    const container = { name, image: 'app:1', imageID: '', ready: false, restartCount: 0 };
    const waiting = { reason: 'ErrImagePull', message: 'manifest unknown' };
    const pulling = [{ ...container, state: { waiting } }];
    expect(causeOf({ phase: 'Pending', containerStatuses: pulling })).toMatch(/^its registry has no image/);
    const running = [{ ...container, ready: true, state: { running: { startedAt: '2025-01-01T00:00:00Z' } } }];
    expect(causeOf({ phase: 'Running', containerStatuses: running })).toMatch(/is declared by \/m\/a\.yaml already$/);
  });
});

test('a disk that became read-only is named, with what to do about it', () => {
  const runtime = { chosenBecause: '', name: '', version: '', endpoint: 'unix:///c.sock', readOnlyDisk: '/data' };
  expect(runtimeFinding(runtime, 'the disk at /data is read-only')).toEqual({
    stage: 'runtime',
    cause: 'the disk at /data is read-only',
    evidence: [{ from: '/proc/self/mountinfo', text: '/data is mounted read-only' }],
    fixes: [
      'The kernel makes a disk read-only after an error. See which: dmesg | grep -iE "error|remount"',
      'If the disk is sound, make it writable: mount -o remount,rw /data',
      'Otherwise stop the pods with kubelet-ts down, check the disk with fsck, or replace it.',
    ],
  });
});
