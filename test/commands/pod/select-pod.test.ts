import { describe, expect, test } from 'vitest';
import type { Pod } from '../../../src/api/types.ts';
import {
  defaultContainer,
  findSandbox,
  type KnownNode,
  namedContainer,
  type SelectedPod,
  selectPod,
} from '../../../src/commands/pod/select-pod.ts';
import type { KnownPod } from '../../../src/commands/pod/why-not-started.ts';
import type { Container } from '../../../src/cri/types.ts';
import { makePod } from '../../builders/pods.ts';
import { makeContainer, makeSandbox, makeRuntime } from '../runtime-listings.ts';

const nodeName = 'node1';

function found(pod: string, sandboxes = someSandboxes, namespace?: string): string {
  return findSandbox(sandboxes, { pod, namespace, nodeName }, { pods: [], sources: [] }).id;
}

const someSandboxes = [
  makeSandbox({ id: 'web', name: 'web-node1' }),
  makeSandbox({ id: 'web-api', name: 'web-api-node1' }),
  makeSandbox({ id: 'etcd', name: 'etcd-node1', namespace: 'kube-system' }),
  makeSandbox({ id: 'job', name: 'job' }),
  makeSandbox({ id: 'dns-a', name: 'dns', namespace: 'a' }),
  makeSandbox({ id: 'dns-b', name: 'dns', namespace: 'b' }),
];

describe('findSandbox', () => {
  test.each([
    ['job', 'job'],
    ['web-node1', 'web'],
    ['web', 'web'],
    ['web-api', 'web-api'],
    ['kube-system/etcd', 'etcd'],
    ['pod/web', 'web'],
    ['b/dns', 'dns-b'],
    ['deploy/web', 'web'],
    ['Deployment/job', 'job'],
    ['jobs/job', 'job'],
  ])('takes %s for the pod %s', (written, expected) => {
    expect(found(written)).toBe(expected);
  });

  test('searches only the namespace that is given', () => {
    expect(found('dns', someSandboxes, 'a')).toBe('dns-a');
    expect(() => found('job', someSandboxes, 'a')).toThrow('no pod "job" in namespace a');
    expect(() => found('b/dns', someSandboxes, 'a')).toThrow('"b/dns" names a namespace other than --namespace a');
  });

  test('takes a namespace before a workload of the same name', () => {
    const pods = [
      makeSandbox({ id: 'own', name: 'web' }),
      makeSandbox({ id: 'of-jobs', name: 'web', namespace: 'jobs' }),
    ];
    expect(found('jobs/web', pods)).toBe('of-jobs');
    expect(found('jobs/web', pods, 'default')).toBe('own');
  });

  test('knows a static pod by its short name whatever the name of the node', () => {
    expect(found('web', [makeSandbox({ id: 'web', name: 'web-other' })])).toBe('web');
  });

  describe('a name that only begins the names of pods', () => {
    const declared = (...names: string[]): { pods: KnownPod[]; sources: [] } => ({
      pods: names.map((name) => ({ pod: makePod({ metadata: { name } }) })),
      sources: [],
    });

    test('is not a pod of this node, with and without an agent', () => {
      const sandboxes = [makeSandbox({ id: 'admin', name: 'web-admin-node1' })];
      const refused = { message: 'no pod "web"', hint: expect.stringContaining('default/web-admin-node1') as string };
      const find = (known?: KnownNode) => (): unknown => findSandbox(sandboxes, { pod: 'web', nodeName }, known);
      expect(find()).toThrow(expect.objectContaining(refused));
      expect(find(declared('web-admin-node1'))).toThrow(expect.objectContaining(refused));
    });

    test('is not the pod that the agent ends, whatever its node', () => {
      const sandboxes = [makeSandbox({ id: 'admin', name: 'web-admin-other' })];
      expect(() => findSandbox(sandboxes, { pod: 'web', nodeName }, declared('web-admin-other'))).toThrow(
        'no pod "web"',
      );
    });

    test('is the declared pod, also before that has started', () => {
      const sandboxes = [makeSandbox({ id: 'admin', name: 'web-admin-other' })];
      expect(() => findSandbox(sandboxes, { pod: 'web', nodeName }, declared('web-node1'))).toThrow(
        'pod default/web-node1 has not started: ',
      );
    });

    test('is the pod of an earlier node name that the agent does not declare', () => {
      const sandboxes = [makeSandbox({ id: 'earlier', name: 'web-other' })];
      expect(findSandbox(sandboxes, { pod: 'web', nodeName }, declared('db-node1')).id).toBe('earlier');
    });
  });

  test('counts a declared pod that has not started among those that a name could mean', () => {
    const known = { pods: [{ pod: makePod({ metadata: { name: 'job', namespace: 'b' } }) }], sources: [] };
    const sandboxes = [makeSandbox({ name: 'job', namespace: 'a' })];
    expect(() => findSandbox(sandboxes, { pod: 'job', nodeName }, known)).toThrow(
      'several pods match "job": a/job, b/job',
    );
  });

  test('lists the pods that a name could mean', () => {
    expect(() => found('dns')).toThrow('several pods match "dns": a/dns, b/dns');
    expect(() => found('w', [makeSandbox({ name: 'w-x' }), makeSandbox({ name: 'w-y' })])).toThrow(
      'several pods match "w": default/w-x, default/w-y',
    );
  });

  test.each([
    ['etd', 'Did you mean kube-system/etcd-node1?'],
    ['zzz', 'Pods: a/dns, b/dns, default/job, default/web-api-node1, default/web-node1, kube-system/etcd-node1.'],
  ])('suggests a name near to %s, else lists the pods', (written, hint) => {
    expect(() => found(written)).toThrow(expect.objectContaining({ message: `no pod "${written}"`, hint }));
  });

  test('says that pods which have not started are not known where no agent answers', () => {
    expect(() => findSandbox([makeSandbox({ name: 'job' })], { pod: 'zzz', nodeName })).toThrow(
      expect.objectContaining({
        hint: 'Pods: default/job. No agent answers, so pods that have not started are unknown.',
      }),
    );
  });

  test('names the manifests that are broken, as they declare no pods', () => {
    const problems = ['/m/a.yaml', '/m/b.yaml', '/m/a.yaml'].map((origin) => ({
      origin,
      severity: 'error' as const,
      message: 'no',
    }));
    expect(() => findSandbox([], { pod: 'zzz', nodeName }, { pods: [], sources: [{ problems }] })).toThrow(
      expect.objectContaining({
        hint:
          'There are no pods. Manifests with errors declare no pods: /m/a.yaml, /m/b.yaml. ' +
          'kubelet-ts ps shows the errors.',
      }),
    );
  });

  const waiting = (reason: string, message: string): Pod['status'] => ({
    containerStatuses: [
      { name: 'app', image: '', imageID: '', ready: false, restartCount: 0, state: { waiting: { reason, message } } },
    ],
  });
  test.each<[string, Partial<KnownPod> & { status?: Pod['status'] }, string]>([
    [
      'a pull that fails',
      { status: waiting('ImagePullBackOff', 'Back-off pulling image "pg:1": ErrImagePull: no such host') },
      'container app: ImagePullBackOff: Back-off pulling image "pg:1": ErrImagePull: no such host',
    ],
    [
      'a refusal',
      { rejection: { reason: 'NodePorts', message: 'port 80 is taken', retryOn: 'podEnd' } },
      'NodePorts: port 80 is taken',
    ],
    [
      'others that come first',
      { status: { reason: 'WaitingForPods', message: 'waits for etcd' } },
      'WaitingForPods: waits for etcd',
    ],
    [
      'a sandbox that cannot be made',
      {
        status: waiting('ContainerCreating', ''),
        worker: { state: 'sync', working: false, pending: false, lastSyncError: 'createPodSandbox: no network' },
      },
      'createPodSandbox: no network',
    ],
    ['nothing that is known', { status: waiting('ContainerCreating', '') }, 'ContainerCreating'],
  ])('says why a pod has no sandbox: %s', (_title, { status, ...known }, why) => {
    const pod: Pod = {
      metadata: { name: 'pg-node1', namespace: 'default', uid: 'u' },
      spec: { containers: [{ name: 'app' }] },
      ...(status && { status }),
    };
    expect(() => findSandbox([], { pod: 'pg', nodeName }, { pods: [{ pod, ...known }], sources: [] })).toThrow(
      expect.objectContaining({
        message: `pod default/pg-node1 has not started: ${why}`,
        hint: 'Show its events: kubelet-ts describe default/pg-node1',
      }),
    );
  });

  test.each(['', '/', 'a/', 'a/b/c'])('refuses %j', (written) => {
    expect(() => found(written)).toThrow(`"${written}" is not the name of a pod`);
  });

  test('takes a ready sandbox before others, then the newest', () => {
    const sandboxes = [
      makeSandbox({ id: 'old', name: 'job', createdAt: 1n, state: 'SANDBOX_NOTREADY' }),
      makeSandbox({ id: 'ready', name: 'job', createdAt: 2n }),
      makeSandbox({ id: 'newest', name: 'job', createdAt: 3n, state: 'SANDBOX_NOTREADY' }),
    ];
    expect(found('job', sandboxes)).toBe('ready');
    expect(
      found(
        'job',
        sandboxes.filter(({ id }) => id !== 'ready'),
      ),
    ).toBe('newest');
  });
});

describe('the containers of a pod', () => {
  const containers = [
    makeContainer({ id: 'setup-0', name: 'setup', createdAt: 1n, state: 'CONTAINER_EXITED' }),
    makeContainer({ id: 'app-1', name: 'app', createdAt: 4n }),
    makeContainer({ id: 'side-0', name: 'side', createdAt: 3n }),
    makeContainer({ id: 'app-0', name: 'app', createdAt: 2n, state: 'CONTAINER_EXITED' }),
  ];
  const declared: Pod = {
    metadata: { name: 'web-node1', namespace: 'default', uid: 'uid-web-node1' },
    spec: { initContainers: [{ name: 'setup' }], containers: [{ name: 'side' }, { name: 'app' }, { name: 'late' }] },
  };
  const select = (annotations: Record<string, string> = {}, pods: Pod[] = []): Promise<SelectedPod> =>
    selectPod(
      makeRuntime([makeSandbox({ name: 'web-node1', annotations })], containers),
      { pod: 'web', nodeName },
      { pods: pods.map((pod) => ({ pod })), sources: [] },
    );
  const summary = ({ containers: listed }: SelectedPod): unknown =>
    listed.map(({ name, isInit, attempts }) => [name, isInit, attempts.map(({ id }) => id)]);

  test('come in the order of their creation, attempts newest first', async () => {
    expect(summary(await select())).toEqual([
      ['setup', false, ['setup-0']],
      ['app', false, ['app-1', 'app-0']],
      ['side', false, ['side-0']],
    ]);
  });

  test('come newest first after the clock was set back, as at a boot without a battery', async () => {
    const attempt = (number: number, createdAt: bigint): Container =>
      makeContainer({ id: `app-${number}`, name: 'app', createdAt, metadata: { name: 'app', attempt: number } });
    const runtime = makeRuntime([makeSandbox({ name: 'web-node1' })], [attempt(0, 9n), attempt(1, 2n)]);
    expect(summary(await selectPod(runtime, { pod: 'web', nodeName }))).toEqual([['app', false, ['app-1', 'app-0']]]);
  });

  test('come as the manifest has them when an agent runs the pod', async () => {
    expect(summary(await select({}, [declared]))).toEqual([
      ['setup', true, ['setup-0']],
      ['side', false, ['side-0']],
      ['app', false, ['app-1', 'app-0']],
      ['late', false, []],
    ]);
  });

  test('the default one is the first that runs, or the first of the manifest', async () => {
    const { container, note } = defaultContainer(await select());
    expect([container.name, note]).toEqual(['app', 'Defaulted container "app" out of: setup, app, side\n']);
    const known = defaultContainer(await select({}, [declared]));
    expect([known.container.name, known.note]).toEqual([
      'side',
      'Defaulted container "side" out of: side, app, late, setup (init)\n',
    ]);
  });

  test('the default one is the one that the annotation names', async () => {
    const annotation = 'kubectl.kubernetes.io/default-container';
    const { container, note } = defaultContainer(await select({ [annotation]: 'side' }));
    expect([container.name, note]).toEqual(['side', '']);
    const missing = defaultContainer(await select({ [annotation]: 'nope' }));
    expect(missing.note).toBe(
      'Default container name "nope" not found in pod web-node1\nDefaulted container "app" out of: setup, app, side\n',
    );
  });

  test('a name that is none of them is an error that lists them', async () => {
    const pod = await select();
    expect(namedContainer(pod, 'side').name).toBe('side');
    expect(() => namedContainer(pod, 'nope')).toThrow(
      expect.objectContaining({
        message: 'container "nope" not found in pod default/web-node1',
        hint: 'Its containers are: setup, app, side.',
      }),
    );
  });
});
