import { describe, expect, test } from 'vitest';
import type { ContainerStatus, Pod, PodStatus } from '../../../src/api/types.ts';
import {
  containerOutcome,
  podOutcome,
  stuckPods,
  unfinishedState,
} from '../../../src/node/run-once/run-once-outcome.ts';
import { podAfter } from '../../builders/pod-after.ts';
import { makeAPIContainerStatus, makePod } from '../../builders/pods.ts';

type RestartPolicy = 'Always' | 'OnFailure' | 'Never';

const ended = (exitCode: number, reason = exitCode === 0 ? 'Completed' : 'Error') => ({
  terminated: { exitCode, reason },
});
const main = (overrides: Partial<ContainerStatus>): ContainerStatus =>
  makeAPIContainerStatus({ name: 'main', ...overrides });
const waiting = (reason: string, message?: string): ContainerStatus =>
  main({ state: { waiting: { reason, ...(message !== undefined && { message }) } } });
const ready: PodStatus['conditions'] = [{ type: 'Ready', status: 'True' }];

const completed = { outcome: 'completed', exitCode: 0, message: '' };
const failedWith = (exitCode: number, more = '', container = 'main') => ({
  outcome: 'failed',
  exitCode,
  message: `container ${container} exited with code ${exitCode}${more}`,
  container,
});

test.each<[string, RestartPolicy, PodStatus, ReturnType<typeof podOutcome> | object]>([
  ['has no status yet', 'Always', {}, undefined],
  ['succeeded', 'Never', { phase: 'Succeeded', containerStatuses: [main({ state: ended(0) })] }, completed],
  ['failed', 'Never', { phase: 'Failed', containerStatuses: [main({ state: ended(7) })] }, failedWith(7)],
  [
    'was killed for its memory',
    'Never',
    { phase: 'Failed', containerStatuses: [main({ state: ended(137, 'OOMKilled') })] },
    failedWith(137, ' (OOMKilled)'),
  ],
  [
    'failed in its second container',
    'Never',
    {
      phase: 'Failed',
      containerStatuses: [main({ state: ended(0) }), makeAPIContainerStatus({ name: 'other', state: ended(3) })],
    },
    failedWith(3, '', 'other'),
  ],
  [
    'failed in an init container',
    'Never',
    {
      phase: 'Failed',
      initContainerStatuses: [makeAPIContainerStatus({ name: 'setup', state: ended(5) })],
      containerStatuses: [waiting('PodInitializing')],
    },
    failedWith(5, '', 'setup'),
  ],
  [
    'was not admitted',
    'Never',
    { phase: 'Failed', reason: 'OutOfpods', message: 'Pod was rejected: too many' },
    { outcome: 'failed', exitCode: 1, message: 'Pod was rejected: too many' },
  ],
  [
    'is tried again after a failure',
    'OnFailure',
    { phase: 'Running', containerStatuses: [main({ lastState: ended(1) })] },
    undefined,
  ],
  [
    'runs and is Ready, and will end',
    'OnFailure',
    { phase: 'Running', conditions: ready, containerStatuses: [main({})] },
    undefined,
  ],
  [
    'runs and is Ready, for ever',
    'Always',
    { phase: 'Running', conditions: ready, containerStatuses: [main({})] },
    { outcome: 'ready', exitCode: 0, message: '' },
  ],
  ['runs and is not Ready', 'Always', { phase: 'Running', containerStatuses: [main({})] }, undefined],
  [
    'runs for ever and ended once with 0',
    'Always',
    { phase: 'Running', containerStatuses: [main({ state: { running: {} }, lastState: ended(0) })] },
    completed,
  ],
  [
    'runs for ever, and one of two ended with 0',
    'Always',
    { phase: 'Running', containerStatuses: [main({ lastState: ended(0) }), makeAPIContainerStatus({ name: 'other' })] },
    undefined,
  ],
  [
    'runs for ever and failed once',
    'Always',
    { phase: 'Running', conditions: ready, containerStatuses: [main({ lastState: ended(2) })] },
    failedWith(2),
  ],
  [
    'has an image that is not there and is not pulled',
    'Always',
    { phase: 'Pending', containerStatuses: [waiting('ErrImageNeverPull', 'not present')] },
    { outcome: 'not started', exitCode: 125, message: 'ErrImageNeverPull: not present', container: 'main' },
  ],
  [
    'has an image of no valid name',
    'Never',
    { phase: 'Pending', containerStatuses: [waiting('InvalidImageName')] },
    { outcome: 'not started', exitCode: 125, message: 'InvalidImageName', container: 'main' },
  ],
  [
    'has an image whose signature is not valid',
    'Always',
    { phase: 'Pending', containerStatuses: [waiting('SignatureValidationFailed', 'no key')] },
    { outcome: 'not started', exitCode: 125, message: 'SignatureValidationFailed: no key', container: 'main' },
  ],
  [
    'has a configuration that cannot be made, in an init container',
    'Never',
    { phase: 'Pending', initContainerStatuses: [waiting('CreateContainerConfigError', 'no such key')] },
    { outcome: 'not started', exitCode: 125, message: 'CreateContainerConfigError: no such key', container: 'main' },
  ],
  [
    'backs off from a pull, which may still come',
    'Always',
    { phase: 'Pending', containerStatuses: [waiting('ImagePullBackOff')] },
    undefined,
  ],
])('of a pod that %s (%s)', (_what, restartPolicy, status, outcome) => {
  expect(podOutcome(makePod({ spec: { restartPolicy }, status }))).toEqual(outcome);
});

test('a sidecar that its pod ended is not to blame for the failure of the job', () => {
  const proxy = { name: 'proxy', image: 'proxy:1', restartPolicy: 'Always' };
  const status = {
    phase: 'Failed',
    initContainerStatuses: [makeAPIContainerStatus({ name: 'proxy', state: ended(137), lastState: ended(1) })],
    containerStatuses: [main({ state: ended(3) })],
  };
  const spec = { restartPolicy: 'Never', initContainers: [proxy] };
  expect(podOutcome(makePod({ spec, status }))).toEqual(failedWith(3));
  const alone = { ...status, containerStatuses: [main({ state: ended(0) })] };
  expect(podOutcome(makePod({ spec, status: alone }))).toEqual(failedWith(1, '', 'proxy'));
});

test('the container that failed first decides, whatever its name', () => {
  const endedAt = (exitCode: number, finishedAt: string) => ({ terminated: { exitCode, finishedAt } });
  const a = makeAPIContainerStatus({ name: 'a', state: endedAt(5, '2026-03-01T10:00:10Z') });
  const b = makeAPIContainerStatus({ name: 'b', state: endedAt(3, '2026-03-01T10:00:01Z') });
  const pod = makePod({ spec: { restartPolicy: 'Never' }, status: { phase: 'Failed', containerStatuses: [a, b] } });
  expect(podOutcome(pod)).toEqual(failedWith(3, '', 'b'));
});

describe('a container that never started', () => {
  const noStart = (message: string, reason = 'StartError'): ContainerStatus =>
    main({ state: { terminated: { exitCode: 128, reason, message } } });
  const runc = 'OCI runtime create failed: runc create failed: unable to start container process';

  test.each([
    ['not there', `${runc}: exec: "nope": executable file not found in $PATH: unknown`, 127],
    ['not there, for crun', 'crun: executable file `nope` not found in $PATH: No such file or directory', 127],
    ['a script whose interpreter is not there', `${runc}: exec /run.sh: no such file or directory`, 127],
    ['a folder', `${runc}: exec: "/etc": is a directory: unknown`, 126],
    ['not executable', `${runc}: exec: "/etc/passwd": permission denied: unknown`, 126],
    ['of another machine', `${runc}: exec /app: exec format error`, 126],
  ])('as its command is %s decides at once with the exit code of a shell', (_what, message, exitCode) => {
    const lastState = noStart(message).state;
    const told = {
      outcome: 'failed',
      exitCode,
      message: `container main could not be started: ${message}`,
      container: 'main',
    };
    const backingOff = main({ state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: lastState ?? {} });
    for (const restartPolicy of ['Never', 'OnFailure', 'Always']) {
      const status = { phase: 'Running' as const, containerStatuses: [backingOff] };
      expect(podOutcome(makePod({ spec: { restartPolicy }, status }))).toEqual(told);
    }
  });

  test('for another reason is a pod that could not be started', () => {
    const message = `${runc}: error mounting "/x" to rootfs at "/x": no such file or directory`;
    const status: PodStatus = { phase: 'Failed', containerStatuses: [noStart(message)] };
    expect(podOutcome(makePod({ spec: { restartPolicy: 'Never' }, status }))).toEqual({
      outcome: 'not started',
      exitCode: 125,
      message: `container main could not be started: ${message}`,
      container: 'main',
    });
  });
});

describe('a pod whose work is done, with containers that always restart', () => {
  const spec = {
    restartPolicy: 'Never' as const,
    containers: [
      { name: 'main', image: 'main:1' },
      { name: 'retried', image: 'main:1', restartPolicy: 'OnFailure' as const },
      { name: 'proxy', image: 'proxy:1', restartPolicy: 'Always' as const },
    ],
  };
  const one = (name: string, state: ContainerStatus['state']): ContainerStatus =>
    makeAPIContainerStatus({ name, ...(state && { state }) });
  const outcomeOf = (mainState: ContainerStatus['state'], retried: ContainerStatus['state']) => {
    const proxy = { ...one('proxy', { running: {} }), lastState: ended(1), restartCount: 1 };
    const containerStatuses = [one('main', mainState), one('retried', retried), proxy];
    return podOutcome(makePod({ spec, status: { phase: 'Running', conditions: ready, containerStatuses } }));
  };

  test('is done with its work', () => {
    expect(outcomeOf(ended(0), ended(0))).toEqual(completed);
    expect(outcomeOf(ended(7), ended(0))).toEqual(failedWith(7));
  });

  test('is not done while a container works, or will be tried again', () => {
    expect(outcomeOf(ended(0), { running: {} })).toBeUndefined();
    expect(outcomeOf(ended(0), ended(3))).toBeUndefined();
  });
});

describe('--until', () => {
  const serves = { phase: 'Running', conditions: ready, containerStatuses: [main({ state: { running: {} } })] };
  test.each([
    ['auto', 'Always', 'ready'],
    ['auto', 'Never', undefined],
    ['ready', 'Never', 'ready'],
    ['ready', 'Always', 'ready'],
    ['completed', 'Always', undefined],
    ['completed', 'OnFailure', undefined],
  ] as const)('%s: a Ready pod with restartPolicy %s is %s', (until, restartPolicy, outcome) => {
    expect(podOutcome(makePod({ spec: { restartPolicy }, status: serves }), { until })?.outcome).toBe(outcome);
  });
});

describe('the container that decides', () => {
  const podWith = (...containerStatuses: ContainerStatus[]): Pod =>
    makePod({ spec: { restartPolicy: 'Never' }, status: { phase: 'Running', containerStatuses } });

  test('has no outcome while it runs, also if another one has failed', () => {
    const other = makeAPIContainerStatus({ name: 'other', state: ended(3) });
    expect(containerOutcome(podWith(main({ state: { running: {} } }), other), 'main')).toBeUndefined();
  });

  test('has completed when it has ended with 0', () => {
    expect(containerOutcome(podWith(main({ state: ended(0) })), 'main')).toEqual({ ...completed, container: 'main' });
  });

  test('has failed when it has ended otherwise, by its first end', () => {
    const status = main({ state: { running: {} }, lastState: ended(7) });
    expect(containerOutcome(podWith(status), 'main')).toEqual(failedWith(7));
  });

  test('is not started if another container of its pod can never start', () => {
    const other = makeAPIContainerStatus({ name: 'other', state: { waiting: { reason: 'ErrImageNeverPull' } } });
    expect(containerOutcome(podWith(main({ state: { waiting: {} } }), other), 'main')).toEqual({
      outcome: 'not started',
      exitCode: 125,
      message: 'ErrImageNeverPull',
      container: 'other',
    });
  });
});

describe('an image that could not be pulled', () => {
  const resolve = 'failed to resolve reference "registry.example/app:1"';
  const outcomeAfter = (failures: number, message: string, reason = 'ErrImagePull') =>
    podOutcome(makePod({ status: { phase: 'Pending', containerStatuses: [waiting(reason, message)] } }), {
      pullFailures: () => failures,
    });

  test.each([
    `${resolve}: registry.example/app:1: not found`,
    `${resolve}: pull access denied, repository does not exist or may require authorization: server message: insufficient_scope`,
    `${resolve}: unexpected status from HEAD request to https://registry.example/v2/app/manifests/1: 401 Unauthorized`,
    'reading manifest 1 in registry.example/app: manifest unknown',
    'no match for platform in manifest: not found',
    `${resolve}: unexpected status from HEAD request to https://registry.example/v2/app/manifests/1: 403 Forbidden`,
    'name unknown: repository registry.example/app not found in the registry',
    `${resolve}: failed to do request: Head "https://registry.example": x509: certificate signed by unknown authority`,
    `${resolve}: failed to do request: http: server gave HTTP response to HTTPS client`,
  ])('and never will be decides at once: %s', (message) => {
    expect(outcomeAfter(1, message)).toEqual({
      outcome: 'not started',
      exitCode: 125,
      message: `ErrImagePull: ${message}`,
      container: 'main',
    });
    expect(outcomeAfter(1, `Back-off pulling image "app": ErrImagePull: ${message}`, 'ImagePullBackOff')).toBeDefined();
  });

  test.each([
    'dial tcp: lookup registry.example on 192.0.2.53:53: no such host',
    'dial tcp 192.0.2.1:443: connect: connection refused',
    'dial tcp 192.0.2.1:443: i/o timeout',
    'dial tcp 192.0.2.1:443: connect: no route to host',
    'net/http: TLS handshake timeout',
  ])('as nobody answers decides at the third time: %s', (message) => {
    expect([1, 2, 3].map((failures) => outcomeAfter(failures, message)?.exitCode)).toEqual([undefined, undefined, 125]);
  });

  test.each([
    'unexpected status from HEAD request to https://registry.example/v2/app/manifests/1: 503 Service Unavailable',
    'unexpected status: 429 Too Many Requests',
    'write /var/lib/containerd/ingest: no space left on device',
  ])('for now is tried until the time is up: %s', (message) => {
    expect(outcomeAfter(100, message)).toBeUndefined();
  });
});

const failedBefore = { lastState: { terminated: { exitCode: 4 } } };

test.each<[string, string, PodStatus, object]>([
  [
    'waits for others',
    'Never',
    { reason: 'WaitingForPods', message: 'Waiting for db' },
    { message: 'WaitingForPods: Waiting for db' },
  ],
  [
    'waits for an image',
    'Never',
    { containerStatuses: [waiting('ImagePullBackOff', 'Back-off pulling image "app"')] },
    { message: 'container main waits: ImagePullBackOff: Back-off pulling image "app"', container: 'main' },
  ],
  [
    'waits for a volume',
    'Never',
    { containerStatuses: [waiting('ContainerCreating')] },
    { message: 'container main waits: ContainerCreating: the last warning', container: 'main' },
  ],
  [
    'runs a job',
    'OnFailure',
    { containerStatuses: [main({ state: { running: {} } })] },
    { message: 'container main still runs', container: 'main' },
  ],
  [
    'runs a job again',
    'OnFailure',
    { containerStatuses: [main({ state: { running: {} }, ...failedBefore })] },
    { message: 'container main still runs; it exited with code 4 before', container: 'main' },
  ],
  [
    'waits for a restart',
    'OnFailure',
    { containerStatuses: [{ ...waiting('CrashLoopBackOff', 'back-off 10s'), ...failedBefore }] },
    {
      message: 'container main waits: CrashLoopBackOff: back-off 10s; it exited with code 4 before',
      container: 'main',
    },
  ],
  [
    'is not Ready',
    'Always',
    { containerStatuses: [main({ state: { running: {} }, ready: false })] },
    { message: 'container main is not Ready: the last warning', container: 'main' },
  ],
  ['has no status', 'Never', {}, { message: 'the last warning' }],
])('a pod whose time is over and that %s says so', (_what, restartPolicy, status, left) => {
  expect(unfinishedState(makePod({ spec: { restartPolicy }, status }), 'the last warning')).toEqual(left);
});

describe('pods that wait for others', () => {
  const waitingPod = (name: string, dependsOn: string): Pod => ({
    ...podAfter(name, dependsOn),
    status: { phase: 'Pending', reason: 'WaitingForPods', message: `Waiting for ${dependsOn} to be Ready` },
  });
  const job = (status: PodStatus): Pod => ({ ...podAfter('job', ''), status });
  const after = waitingPod('after', 'job');
  const last = waitingPod('last', 'after');

  test('are stuck when all that is left waits for what failed', () => {
    expect(stuckPods([after, last], [job({ phase: 'Failed' }), after, last])).toEqual([after, last]);
  });

  test.each([
    ['there is another one to decide', [job({ phase: 'Running' }), after], { phase: 'Running' }],
    ['what they wait for completed this moment', [after], { phase: 'Succeeded' }],
    [
      'they run, though the others are not Ready any more',
      [{ ...after, status: { phase: 'Running' } }],
      { phase: 'Failed' },
    ],
  ])('are not when %s', (_what, undecided, status) => {
    const known = [job(status), ...undecided.filter(({ metadata }) => metadata.name !== 'job-edge1')];
    expect(stuckPods(undecided, known)).toEqual([]);
  });
});
