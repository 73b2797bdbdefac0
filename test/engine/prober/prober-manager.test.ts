import { expect, test } from 'vitest';
import type { ContainerState, PodStatus } from '../../../src/api/types.ts';
import { type ProbeChange, ProberManager } from '../../../src/engine/prober/prober-manager.ts';
import { WallClockHistory } from '../../../src/flow/wall-clock-history.ts';
import { makeContainer, makePod } from '../../builders/pods.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { FakeRuntime } from '../../fakes/fake-runtime.ts';

const probe = { exec: { command: ['true'] }, periodSeconds: 1 };
const pod = makePod({
  metadata: { uid: 'u1' },
  spec: { restartPolicy: 'Never', containers: [makeContainer({ name: 'app', livenessProbe: probe })] },
});

test.each(['Never', 'OnFailure'])(
  'an exited container is reported once, however often its pod is synced (restartPolicy %s)',
  async (restartPolicy) => {
    const clock = new FakeClock();
    const changes: ProbeChange[] = [];
    const at = new Date(clock.now()).toISOString();
    let state: ContainerState = { running: { startedAt: at } };
    const status = (): PodStatus => ({
      phase: 'Running',
      containerStatuses: [
        {
          name: 'app',
          state,
          containerID: 'fake://c1',
          started: true,
          ready: true,
          restartCount: 0,
          image: '',
          imageID: '',
        },
      ],
    });
    const prober = new ProberManager({
      clock,
      wallClock: new WallClockHistory(clock),
      runtime: new FakeRuntime({ clock }),
      getStatus: status,
      onChange: (change) => changes.push(change),
      checkHealth: () => Promise.reject(new Error('no gRPC probe is run')),
      emit: () => undefined,
      nodeIPs: () => ['192.0.2.1'],
      random: () => 0,
    });
    const synced = { ...pod, spec: { ...pod.spec, restartPolicy } };
    prober.addPod(synced);
    await clock.advance(0);
    state = { terminated: { exitCode: 0, startedAt: at, finishedAt: at } };
    for (let sync = 0; sync < 3; sync++) {
      await clock.advance(1000);
      prober.addPod(synced);
    }
    await clock.advance(1000);
    const ofContainer = { podUID: 'u1', type: 'liveness', containerID: 'c1' };
    expect(changes).toEqual([
      { ...ofContainer, result: 'success' },
      { ...ofContainer, result: 'failure' },
    ]);
    prober.removePod('u1');
  },
);

test('a container that a rule starts again keeps its readiness probe, so it is not ready at once', async () => {
  const clock = new FakeClock();
  const at = new Date(clock.now()).toISOString();
  let state: ContainerState = { running: { startedAt: at } };
  const prober = new ProberManager({
    clock,
    wallClock: new WallClockHistory(clock),
    runtime: new FakeRuntime({ clock }),
    getStatus: () => ({
      phase: 'Running',
      containerStatuses: [
        { name: 'app', state, containerID: 'fake://c1', ready: true, restartCount: 0, image: '', imageID: '' },
      ],
    }),
    onChange: () => undefined,
    checkHealth: () => Promise.reject(new Error('no gRPC probe is run')),
    emit: () => undefined,
    nodeIPs: () => ['192.0.2.1'],
    random: () => 0,
  });
  const restartPolicyRules = [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }];
  const app = makeContainer({ name: 'app', readinessProbe: probe, restartPolicy: 'Never', restartPolicyRules });
  prober.addPod({ ...pod, spec: { ...pod.spec, containers: [app] } });
  await clock.advance(0);
  state = { terminated: { exitCode: 42, startedAt: at, finishedAt: at } };
  await clock.advance(5000);
  expect(prober.workersOf('u1').readiness).toEqual(new Set(['app']));
  prober.removePod('u1');
});

test('probes of a pod on the host network ask the address of the node, which may change', async () => {
  const clock = new FakeClock();
  const asked: string[] = [];
  const ips = ['192.0.2.1'];
  const at = new Date(clock.now()).toISOString();
  const prober = new ProberManager({
    clock,
    wallClock: new WallClockHistory(clock),
    runtime: new FakeRuntime({ clock }),
    getStatus: () => ({
      phase: 'Running',
      containerStatuses: [
        {
          ...{ name: 'app', containerID: 'fake://c1', started: true, ready: false, restartCount: 0 },
          ...{ state: { running: { startedAt: at } }, image: '', imageID: '' },
        },
      ],
    }),
    onChange: () => undefined,
    checkHealth: ({ host, port }) => {
      asked.push(`${host}:${port}`);
      return Promise.resolve(undefined);
    },
    emit: () => undefined,
    nodeIPs: () => ips,
    random: () => 0,
  });
  const app = makeContainer({ name: 'app', readinessProbe: { grpc: { port: 9000 }, periodSeconds: 10 } });
  prober.addPod({ ...pod, spec: { ...pod.spec, hostNetwork: true, containers: [app] } });
  await clock.advance(0);
  ips[0] = '192.0.2.55';
  await clock.advance(10_000);
  expect(asked).toEqual(['192.0.2.1:9000', '192.0.2.55:9000']);
  prober.removePod('u1');
});

test.each([
  ['ran before the agent is probed within a period', true, []],
  ['starts after the agent is probed at once', false, ['192.0.2.1:9000']],
])('a container that %s', async (_what, ranBefore, expected) => {
  const clock = new FakeClock();
  const asked: string[] = [];
  const at = new Date(clock.now()).toISOString();
  let state: ContainerState = ranBefore ? { running: { startedAt: at } } : { waiting: { reason: 'ContainerCreating' } };
  const statusOf = (): PodStatus['containerStatuses'] => [
    {
      ...{ name: 'app', containerID: state.running ? 'fake://c1' : '', started: true, ready: false, restartCount: 0 },
      ...{ state, image: '', imageID: '' },
    },
  ];
  const prober = new ProberManager({
    clock,
    wallClock: new WallClockHistory(clock),
    runtime: new FakeRuntime({ clock }),
    getStatus: () => ({ phase: 'Running', podIP: '192.0.2.1', containerStatuses: statusOf() ?? [] }),
    onChange: () => undefined,
    checkHealth: ({ host, port }) => {
      asked.push(`${host}:${port}`);
      return Promise.resolve(undefined);
    },
    emit: () => undefined,
    nodeIPs: () => [],
    random: () => 0.5,
  });
  const app = makeContainer({ name: 'app', readinessProbe: { grpc: { port: 9000 }, periodSeconds: 10 } });
  prober.addPod({ ...pod, spec: { ...pod.spec, containers: [app] } });
  await clock.advance(100);
  state = { running: { startedAt: at } };
  prober.triggerReadiness('u1', { phase: 'Running', containerStatuses: statusOf() ?? [] });
  await clock.advance(0);
  expect(asked).toEqual(expected);
  prober.removePod('u1');
});
