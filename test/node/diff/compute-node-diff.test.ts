import { describe, expect, test } from 'vitest';
import type { PodSpec, Pod } from '../../../src/api/types.ts';
import type { ConfigObject } from '../../../src/api/values/config-object.ts';
import { defaultInPlacePolicy } from '../../../src/api/values/in-place.ts';
import { computeNodeDiff, type NodeDiff } from '../../../src/node/diff/compute-node-diff.ts';
import { nodeDiffText } from '../../../src/commands/diff/node-diff-text.ts';
import { podFullName } from '../../../src/api/values/pod-names.ts';
import type { PodRecord } from '../../../src/engine/operations/pod-record.ts';
import type { CurrentNode, CurrentPod } from '../../../src/node/diff/node-state.ts';
import { makeConfigMap, makeSecret } from '../../builders/config-objects.ts';
import { makeContainer, makeContainerStatus, makePod, makePodStatus } from '../../builders/pods.ts';

function pod(name: string, uid: string, spec: Partial<PodSpec> = {}): Pod {
  return makePod({ metadata: { name, uid }, spec });
}
const running = (held: Pod, more: Partial<CurrentPod> = {}): CurrentPod => ({ pod: held, source: 'file', ...more });

interface Desired {
  pods?: Pod[];
  configObjects?: ConfigObject[];
  urls?: string[];
  uidUnder?: (pod: Pod, origin: string) => string;
  derivedUIDs?: string[];
  declaresNothing?: boolean;
}

function nodeDiff(current: Partial<CurrentNode>, desired: Desired): NodeDiff {
  return computeNodeDiff(
    { pods: [], configObjects: [], inPlace: defaultInPlacePolicy, records: new Map(), ...current },
    {
      pods: [],
      configObjects: [],
      urls: [],
      uidUnder: () => undefined,
      rollOuts: new Map(),
      extraPods: new Map(),
      ...desired,
    },
  );
}
const podsOf = (current: CurrentPod[], desired: Desired): string =>
  nodeDiffText(nodeDiff({ pods: current }, desired), false);

const image = (tag: string): Partial<PodSpec> => ({ containers: [makeContainer({ image: `web:${tag}` })] });

describe('what becomes of a pod', () => {
  test('it starts, stops or stays', () => {
    const current = [running(pod('old', '1')), running(pod('same', '2')), running(pod('url', '3'), { source: 'http' })];
    expect(podsOf(current, { pods: [pod('same', '2'), pod('new', '4')] })).toBe(
      [
        '+ start    default/new (no pod with this name runs)',
        '- stop     default/old (no manifest declares it)',
        '= stay     default/same',
        '= stay     default/url (a URL declares it)',
        '1 to start, 1 to stop, 2 to stay',
        '',
      ].join('\n'),
    );
  });

  const stops = 'stop (no manifest declares it)';
  const stays = 'stay (no manifest declares it; only a start with --prune stops it)';
  test.each<[what: string, current: CurrentPod[], desired: Desired, of: string[]]>([
    ['the agent keeps it', [running(pod('old', '1'), { undeclared: 'kept' })], {}, [`old ${stays}`]],
    ['the agent runs', [running(pod('old', '1'))], {}, [`old ${stops}`]],
    [
      'no agent runs and a start would stop all',
      [running(pod('old', '1'), { left: 'running' }), running(pod('done', '2'))],
      { pods: [pod('new', '3')] },
      [`done ${stays}`, 'new start (no pod with this name runs)', `old ${stays}`],
    ],
    [
      'no agent runs, all have ended and nothing is declared',
      [
        running(pod('done', '1', { restartPolicy: 'Never' }), { left: 'ended' }),
        running(pod('old', '2'), { left: 'ended' }),
      ],
      {},
      [`done ${stays}`, `old ${stops}`],
    ],
    [
      'no agent runs and some pod is declared',
      [running(pod('old', '1'), { left: 'running' }), running(pod('same', '2'), { left: 'running' })],
      { pods: [pod('same', '2')] },
      [`old ${stops}`, 'same stay'],
    ],
    [
      'no agent runs and a URL declares another pod',
      [running(pod('old', '1'), { left: 'running' }), running(pod('url', '2'), { left: 'running', source: 'http' })],
      {},
      [`old ${stops}`, 'url stay (a URL declares it)'],
    ],
    [
      'its stop was begun',
      [running(pod('old', '1'), { left: 'running', undeclared: 'removed' })],
      {},
      [`old ${stops}`],
    ],
    [
      'the manifests are an empty list on purpose',
      [running(pod('old', '1'), { left: 'running', undeclared: 'kept' })],
      { declaresNothing: true },
      [`old ${stops}`],
    ],
  ])('an undeclared pod stays or stops as a start would have it: %s', (_what, current, desired, of) => {
    const changes = nodeDiff({ pods: current }, desired).pods.map(
      ({ name, action, because }) => `${name} ${action}${because === '' ? '' : ` (${because})`}`,
    );
    expect(changes).toEqual(of);
  });

  test('it stays as an operator asked, or as it was applied', () => {
    const web = pod('web', '1', image('1'));
    const revision = { number: 1, name: 'r1', takenAt: 1, from: '', isDerivedUID: true, wasReady: true, pod: web };
    const record = (name: string, more: Partial<PodRecord>): [string, PodRecord] => [
      podFullName(pod(name, '').metadata),
      { version: 1, namespace: 'default', name, current: 1, revisions: [revision], ...more },
    ];
    const records = new Map([
      record('held', { pin: { to: 1, because: 'held by kubelet-ts hold' } }),
      record('stopped', { isStopped: true }),
    ]);
    const pods = ['held', 'stopped', 'own'].map((name) => running(pod(name, name, image('1'))));
    const applied = running(pod('extra', '9'), { source: 'applied' });
    const desired = ['held', 'stopped', 'own'].map((name) => pod(name, `${name}2`, image('2')));
    const { pods: changes } = nodeDiff({ pods: [...pods, applied], records }, { pods: desired });
    expect(changes.map(({ action, name, because }) => [action, name, because])).toEqual([
      ['stay', 'extra', 'kubelet-ts apply declared it'],
      ['stay', 'held', 'held by kubelet-ts hold; revision 1 runs'],
      ['restart', 'own', 'replaces the pod: its UID changes'],
      ['stay', 'stopped', 'it is stopped until kubelet-ts start'],
    ]);
  });

  test('it stops when the URL that declared it was asked and does not any more', () => {
    const current = ['asked', 'other'].map((name) =>
      running(pod(name, name), { source: 'http', origin: `url:${name}` }),
    );
    expect(podsOf(current, { urls: ['url:asked'] })).toBe(
      [
        '- stop     default/asked (no manifest declares it)',
        '= stay     default/other (a URL declares it)',
        '1 to stop, 1 to stay',
        '',
      ].join('\n'),
    );
  });

  test('all of it restarts when its manifest sets another UID, and the fields say what else changed', () => {
    expect(podsOf([running(pod('web', '1', image('1')))], { pods: [pod('web', '2', image('2'))] })).toBe(
      [
        '~ restart  default/web (replaces the pod: its UID changes)',
        '      spec.containers[0].image: "web:1" → "web:2"',
        '1 to restart',
        '',
      ].join('\n'),
    );
  });

  const derivedUIDs = ['2'];
  const sized = (memory: string, restartPolicy = 'NotRequired'): Partial<PodSpec> => ({
    containers: [
      makeContainer({
        resources: { requests: { memory: '8Mi' }, limits: { memory } },
        resizePolicy: [{ resourceName: 'memory', restartPolicy }],
      }),
    ],
  });

  test.each<[string, Partial<PodSpec>, Partial<PodSpec>, boolean, string]>([
    ['another image', image('1'), image('2'), true, '~ restart  default/web (container web)'],
    [
      'more memory',
      sized('16Mi'),
      sized('32Mi'),
      true,
      '~ update   default/web (resized in place, no container restarts)',
    ],
    [
      'more memory, which wants a restart',
      sized('16Mi', 'RestartContainer'),
      sized('32Mi', 'RestartContainer'),
      true,
      '~ restart  default/web (container web)',
    ],
    [
      'more memory, with an agent that replaces pods',
      sized('16Mi'),
      sized('32Mi'),
      false,
      '~ restart  default/web (replaces the pod: the agent runs with --in-place=false)',
    ],
    ['the first limit', {}, sized('32Mi'), true, '~ restart  default/web (replaces the pod: its manifest changed)'],
    ['only another spelling', image('1'), image('1'), true, '= stay     default/web'],
  ])('it goes the way that its change allows: %s', (_what, before, after, inPlace, line) => {
    const text = nodeDiffText(
      nodeDiff(
        { pods: [running(pod('web', '1', before))], inPlace: { isEnabled: inPlace, isPinning: false } },
        { pods: [pod('web', '2', after)], derivedUIDs },
      ),
      false,
    );
    expect(text.split('\n')[0]).toBe(line);
  });

  test('all of it restarts when it ended', () => {
    const ended = { ...pod('web', '1', image('1')), status: { phase: 'Failed' } };
    expect(podsOf([running(ended)], { pods: [pod('web', '2', image('2'))], derivedUIDs })).toContain(
      '~ restart  default/web (replaces the pod: it has completed)',
    );
  });

  test('it stays when its revision came to it in place', () => {
    const metadata = { name: 'web', uid: '1', annotations: { 'kubernetes.io/config.hash': '2' } };
    const changed = makePod({ metadata, spec: image('2') });
    expect(podsOf([running(changed)], { pods: [pod('web', '2', image('2'))], derivedUIDs })).toBe(
      '= stay     default/web\n1 to stay\n',
    );
  });

  test('it stays when its manifest says the same in another place', () => {
    const uidUnder = (_pod: Pod, origin: string): string => (origin === '/etc/pods/web.yaml' ? '1' : '9');
    const current = [running(pod('web', '1'), { origin: '/etc/pods/web.yaml' })];
    expect(podsOf(current, { pods: [pod('web', '2')], uidUnder })).toBe('= stay     default/web\n1 to stay\n');
  });

  test('it stays when the one before it is still ending', () => {
    const current = [running(pod('web', '1', image('1'))), running(pod('web', '2'))];
    expect(podsOf(current, { pods: [pod('web', '2')] })).toBe('= stay     default/web\n1 to stay\n');
  });
});

describe('what becomes of a pod with its own UID', () => {
  const twoContainers = (tag: string): Partial<PodSpec> => ({
    initContainers: [makeContainer({ name: 'init' })],
    containers: [makeContainer({ name: 'a', image: `a:${tag}` }), makeContainer({ name: 'b' })],
  });

  test('containers with another image restart alone', () => {
    expect(
      podsOf([running(pod('web', '1', twoContainers('1')))], { pods: [pod('web', '1', twoContainers('2'))] }),
    ).toBe(
      [
        '~ restart  default/web (container a)',
        '      spec.containers[0].image: "a:1" → "a:2"',
        '1 to restart',
        '',
      ].join('\n'),
    );
  });

  test('other fields change while its containers go on running', () => {
    const current = pod('web', '1');
    const desired = { ...current, metadata: { ...current.metadata, labels: { app: 'web' } } };
    expect(podsOf([running(current)], { pods: [desired] })).toBe(
      [
        '~ update   default/web (no container restarts)',
        '      metadata.labels: added {"app":"web"}',
        '1 to update',
        '',
      ].join('\n'),
    );
  });

  test('another network needs another sandbox', () => {
    expect(podsOf([running(pod('web', '1'))], { pods: [pod('web', '1', { hostNetwork: true })] })).toBe(
      ['~ restart  default/web (its sandbox changes)', '      spec.hostNetwork: added true', '1 to restart', ''].join(
        '\n',
      ),
    );
  });

  test('without its manifest the containers in the runtime say what they were made from', () => {
    const held = pod('web', '1');
    const status = makePodStatus(held, { containerStatuses: [makeContainerStatus(makeContainer({ image: 'web:1' }))] });
    const bare = { ...held, spec: { containers: [{ name: 'web' }] } };
    expect(podsOf([running(bare, { status })], { pods: [pod('web', '1', image('2'))] })).toBe(
      [
        '~ restart  default/web (container web)',
        '      spec.containers[0].image: "web:1" → "web:2"',
        '1 to restart',
        '',
      ].join('\n'),
    );
    expect(podsOf([running(bare, { status })], { pods: [pod('web', '1', image('1'))] })).toBe(
      '= stay     default/web\n1 to stay\n',
    );
  });
});

describe('what becomes of ConfigMaps and Secrets', () => {
  const user = pod('web', '1', {
    containers: [
      makeContainer({
        name: 'app',
        env: [
          { name: 'A', valueFrom: { configMapKeyRef: { name: 'conf', key: 'a' } } },
          { name: 'B', valueFrom: { secretKeyRef: { name: 'login', key: 'other' } } },
        ],
        volumeMounts: [{ name: 'conf', mountPath: '/conf' }],
      }),
      makeContainer({
        name: 'side',
        envFrom: [{ secretRef: { name: 'login' } }],
        volumeMounts: [{ name: 'conf', mountPath: '/a', subPath: 'a' }],
      }),
    ],
    volumes: [
      { name: 'conf', configMap: { name: 'conf' } },
      { name: 'all', projected: { sources: [{ secret: { name: 'login' } }] } },
    ],
  });
  const current = {
    pods: [running(user)],
    configObjects: [
      makeConfigMap('conf', { a: '1', b: '1', c: '1' }),
      makeSecret('login', { password: 'hunter2' }),
      makeConfigMap('gone', { a: '1' }),
      makeConfigMap('same', { a: '1' }),
    ],
  };

  test('pods that go on notice them in volumes at once, in variables when they start anew', () => {
    const result = nodeDiff(current, {
      pods: [user],
      configObjects: [
        makeConfigMap('conf', { a: '2', b: '1', d: '1' }),
        makeSecret('login', { password: 'hunter3' }),
        makeSecret('new', { key: 'hunter4' }),
        makeConfigMap('same', { a: '1' }),
      ],
    });
    expect(nodeDiffText(result, false)).toBe(
      [
        '= stay     default/web',
        '~ change   ConfigMap default/conf',
        '      a: changed',
        '      c: removed',
        '      d: added',
        '      default/web: volume conf is updated live',
        '      default/web: env of container app needs a restart',
        '      default/web: subPath mount of container side needs a restart',
        '- remove   ConfigMap default/gone',
        '      a: removed',
        '~ change   Secret default/login',
        '      password: changed',
        '      default/web: volume all is updated live',
        '      default/web: env of container side needs a restart',
        '+ add      Secret default/new',
        '      key: added',
        '1 to stay, 4 ConfigMaps, Secrets, classes or storage objects to change',
        '',
      ].join('\n'),
    );
    expect(JSON.stringify(result)).not.toContain('hunter');
  });

  test('a pod that starts anyway has nothing to notice', () => {
    const { configObjects } = nodeDiff(
      { ...current, pods: [] },
      { pods: [user], configObjects: [makeConfigMap('conf', {})] },
    );
    expect(configObjects.flatMap(({ effects }) => effects)).toEqual([]);
  });
});

test('is coloured on a terminal', () => {
  const result = nodeDiff({ pods: [running(pod('old', '1'))] }, { pods: [pod('new', '2')] });
  expect(nodeDiffText(result, true).split('\n').slice(0, 2)).toEqual([
    '\u001b[32m+ start    default/new (no pod with this name runs)\u001b[39m',
    '\u001b[31m- stop     default/old (no manifest declares it)\u001b[39m',
  ]);
});
