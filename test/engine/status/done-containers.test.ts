import { describe, expect, test } from 'vitest';
import type { RuntimePodStatus } from '../../../src/engine/container/runtime-pod-status.ts';
import {
  computeDoneContainers,
  type DoneContainer,
  isPodDone,
  withDoneContainers,
} from '../../../src/engine/status/done-containers.ts';
import { makeContainer, makeContainerStatus, makePod, makePodStatus, makeSandbox } from '../../builders/pods.ts';

const setup = makeContainer({ name: 'setup' });
const proxy = makeContainer({ name: 'proxy', restartPolicy: 'Always' });
const job = makeContainer({ name: 'job' });
const web = makeContainer({ name: 'web' });

/** Exit codes by name. A container without one runs. */
type Ends = Record<string, number | undefined>;

function statusOf(pod: ReturnType<typeof makePod>, ends: Ends): RuntimePodStatus {
  const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].filter(({ name }) => name in ends);
  return makePodStatus(pod, {
    containerStatuses: all.map((container) => {
      const exitCode = ends[container.name];
      return makeContainerStatus(container, exitCode === undefined ? {} : { state: 'exited', exitCode });
    }),
  });
}

const namesOf = (done: readonly DoneContainer[]): string[] => done.map(({ status }) => status.name);

describe('a container is done', () => {
  test.each<[policy: string, ends: Ends, done: string[], isOver: boolean]>([
    ['Always', { job: 0, web: undefined }, [], false],
    ['OnFailure', { job: 0, web: undefined }, ['job'], false],
    ['OnFailure', { job: 1, web: 0 }, ['web'], false],
    ['OnFailure', { job: 0, web: 0 }, ['job', 'web'], true],
    ['Never', { job: 1, web: undefined }, ['job'], false],
    ['Never', { job: 1, web: 0 }, ['job', 'web'], true],
    ['Always', { setup: 0, job: undefined, web: undefined }, ['setup'], false],
    ['Always', { setup: 1 }, [], false],
    ['OnFailure', { setup: 1 }, [], false],
    ['Never', { setup: 1 }, ['setup'], true],
    ['Never', { setup: 0, proxy: 143, job: 0, web: 0 }, ['setup', 'proxy', 'job', 'web'], true],
    ['Never', { setup: 0, proxy: 143, job: undefined, web: 0 }, ['setup', 'web'], false],
  ])('under restartPolicy %s, with the exit codes %o: %o', (restartPolicy, ends, names, isOver) => {
    const pod = makePod({ spec: { restartPolicy, initContainers: [setup, proxy], containers: [job, web] } });
    const done = computeDoneContainers(pod, statusOf(pod, ends), [], false);
    expect({ done: namesOf(done), isOver: isPodDone(pod, done) }).toEqual({ done: names, isOver });
  });

  test('past the deadline of its pod, if it has ended', () => {
    const pod = makePod({ spec: { restartPolicy: 'Always', containers: [job, web] } });
    expect(namesOf(computeDoneContainers(pod, statusOf(pod, { job: 137, web: undefined }), [], true))).toEqual(['job']);
  });
});

describe('a done container that the runtime no longer has', () => {
  const pod = makePod({ spec: { initContainers: [setup], containers: [job] } });
  const ended = (name: string) => makeContainerStatus(makeContainer({ name }), { state: 'exited' });
  const done = [{ status: ended('setup'), sandboxID: 'sandbox-0' }, { status: ended('job') }];

  test.each<[string, string[], string[]]>([
    ['in its sandbox', ['sandbox-0'], ['setup', 'job']],
    ['without a sandbox', [], ['setup', 'job']],
    ['in another sandbox, where init containers run again', ['sandbox-1', 'sandbox-0'], ['job']],
  ])('counts as ended %s', (_where, sandboxes, names) => {
    const podStatus = makePodStatus(pod, {
      containerStatuses: [],
      sandboxStatuses: sandboxes.map((id) => makeSandbox({ id })),
    });
    expect(withDoneContainers(podStatus, done).containerStatuses.map(({ name }) => name)).toEqual(names);
  });

  test.each([{ createdAt: 1 }, { restartCount: -1 }])('comes before an earlier instance: %j', (earlier) => {
    const left = makeContainerStatus(job, { state: 'created', ...earlier });
    const podStatus = makePodStatus(pod, { containerStatuses: [left] });
    expect(withDoneContainers(podStatus, [{ status: ended('job') }]).containerStatuses).toEqual([
      { ...ended('job'), isLost: true },
      left,
    ]);
  });

  test('is recorded without what the runtime enforced, so that the record can be written', () => {
    const once = makePod({ spec: { restartPolicy: 'Never', containers: [job] } });
    const status = { ...ended('job'), resources: { cpuLimitMilli: 100n } };
    const podStatus = makePodStatus(once, { containerStatuses: [status] });
    expect(computeDoneContainers(once, podStatus, [], false)).toEqual([{ status: ended('job') }]);
  });

  test('makes way for a newer instance', () => {
    const podStatus = statusOf(pod, { setup: undefined, job: undefined });
    expect(withDoneContainers(podStatus, done)).toBe(podStatus);
    expect(computeDoneContainers(pod, podStatus, done, false)).toEqual([]);
  });

  test('keeps its sandbox while the runtime still has it', () => {
    const podStatus = { ...statusOf(pod, { setup: 0 }), sandboxStatuses: [makeSandbox({ id: 'sandbox-1' })] };
    expect(computeDoneContainers(pod, podStatus, [{ status: ended('setup'), sandboxID: 'sandbox-0' }], false)).toEqual([
      { status: ended('setup'), sandboxID: 'sandbox-0' },
    ]);
  });
});
