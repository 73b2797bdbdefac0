import { describe, expect, test } from 'vitest';
import type { ProbeResult } from '../../src/containerd/probe-endpoint.ts';
import { chooseRuntimeEndpoint, normalizeEndpoint } from '../../src/containerd/runtime-endpoint.ts';

const containerd: ProbeResult = { kind: 'answers', runtimeName: 'containerd', runtimeVersion: '1.7.24' };
const crio: ProbeResult = { kind: 'answers', runtimeName: 'cri-o', runtimeVersion: '1.32.0' };
const busy: ProbeResult = { kind: 'failed', reason: 'deadline', error: new Error('deadline') };
const managed = 'unix:///var/lib/kubelet-ts/containerd/containerd.sock';

/** A machine with these sockets; every other one is absent. */
const machine = (sockets: Record<string, ProbeResult>, recorded = false, unready: Record<string, string> = {}) => ({
  rootDir: '/var/lib/kubelet-ts',
  recorded,
  probe: (endpoint: string): Promise<ProbeResult> => Promise.resolve(sockets[endpoint] ?? { kind: 'absent' }),
  unreadyBecause: (endpoint: string) => Promise.resolve(unready[endpoint]),
});

const startOrLeaveOut =
  'Start the runtime. Or leave out --container-runtime-endpoint: ' +
  'kubelet-ts then finds a runtime, or runs its own containerd.';

describe('what was named', () => {
  test('the flag goes before everything', async () => {
    const sockets = { 'unix:///a.sock': crio, 'unix:///b.sock': containerd };
    expect(await chooseRuntimeEndpoint({ ...machine(sockets, true), flag: '/a.sock', env: 'unix:///b.sock' })).toEqual({
      endpoint: 'unix:///a.sock',
      managed: false,
      named: true,
      because: 'cri-o 1.32.0 on unix:///a.sock, as --container-runtime-endpoint says.',
    });
  });

  test('the environment goes before the managed containerd', async () => {
    const sockets = { 'unix:///b.sock': containerd };
    expect(await chooseRuntimeEndpoint({ ...machine(sockets, true), flag: '', env: 'unix:///b.sock' })).toEqual({
      endpoint: 'unix:///b.sock',
      managed: false,
      named: true,
      because: 'containerd 1.7.24 on unix:///b.sock, as $CONTAINER_RUNTIME_ENDPOINT says.',
    });
  });

  test.each<[ProbeResult, string, string]>([
    [{ kind: 'absent' }, 'does not exist', startOrLeaveOut],
    [{ kind: 'refused' }, 'has no listener', startOrLeaveOut],
    [{ kind: 'denied', error: new Error('EACCES') }, 'is not accessible to this user', 'as root'],
    [{ kind: 'no-cri', error: new Error('unknown service') }, 'is its CRI plugin disabled?', 'disabled_plugins'],
    [{ kind: 'failed', reason: 'deadline', error: new Error('deadline') }, 'Version call: deadline', 'log'],
  ])('is not passed over when it is %j', async (result, message, hint) => {
    const choice = chooseRuntimeEndpoint({ ...machine({ 'unix:///a.sock': result }), flag: '/a.sock' });
    await expect(choice).rejects.toMatchObject({
      name: 'UserError',
      message: expect.stringContaining(message) as string,
      hint: expect.stringContaining(hint) as string,
    });
  });
});

test.each([
  [{ flag: '/a.sock' }, '--container-runtime-endpoint'],
  [
    { flag: '/a.sock', flagName: 'containerRuntimeEndpoint in the configuration' as const },
    'containerRuntimeEndpoint in the configuration',
  ],
  [{ flag: '', env: 'unix:///a.sock' }, '$CONTAINER_RUNTIME_ENDPOINT'],
])('the hint for a missing runtime leaves out what named it: %j', async (options, name) => {
  await expect(chooseRuntimeEndpoint({ ...machine({}), ...options })).rejects.toMatchObject({
    message: 'The container runtime endpoint unix:///a.sock does not exist',
    hint: `Start the runtime. Or leave out ${name}: kubelet-ts then finds a runtime, or runs its own containerd.`,
  });
});

describe('what was not named', () => {
  test('a managed containerd that has our pods goes before a well-known socket', async () => {
    const sockets = { 'unix:///run/containerd/containerd.sock': containerd };
    expect(await chooseRuntimeEndpoint(machine(sockets, true))).toEqual({
      endpoint: managed,
      managed: true,
      named: false,
      because: 'The managed containerd of this root-dir has our pods and images.',
    });
  });

  test('the first well-known socket that answers is taken', async () => {
    const sockets = {
      'unix:///run/containerd/containerd.sock': { kind: 'no-cri', error: undefined },
      'unix:///run/crio/crio.sock': crio,
      'unix:///run/k3s/containerd/containerd.sock': containerd,
    } as const;
    expect(await chooseRuntimeEndpoint(machine(sockets))).toEqual({
      endpoint: 'unix:///run/crio/crio.sock',
      managed: false,
      named: false,
      because: 'cri-o 1.32.0 answers on unix:///run/crio/crio.sock.',
    });
  });

  const debian = { 'unix:///run/containerd/containerd.sock': containerd };
  const noNetwork = { 'unix:///run/containerd/containerd.sock': 'cni plugin not initialized' };

  test('a runtime without a network for pods is passed over', async () => {
    const sockets = { ...debian, 'unix:///run/crio/crio.sock': crio };
    expect(await chooseRuntimeEndpoint(machine(sockets, false, noNetwork))).toEqual({
      endpoint: 'unix:///run/crio/crio.sock',
      managed: false,
      named: false,
      because: 'cri-o 1.32.0 answers on unix:///run/crio/crio.sock.',
    });
    expect(await chooseRuntimeEndpoint(machine(debian, false, noNetwork))).toEqual({
      endpoint: managed,
      managed: true,
      named: false,
      because:
        'kubelet-ts runs a containerd of its own: containerd 1.7.24 on unix:///run/containerd/containerd.sock ' +
        'is not ready for pods (cni plugin not initialized).',
    });
  });

  test.each([
    ['of the flag', { flag: 'unix:///run/containerd/containerd.sock' }],
    ['of the environment', { env: 'unix:///run/containerd/containerd.sock' }],
    ['of the agent', { ofAgent: 'unix:///run/containerd/containerd.sock' }],
  ])('a runtime without a network stays if it is that %s', async (_whose, named) => {
    const choice = await chooseRuntimeEndpoint({ ...machine(debian, false, noNetwork), ...named });
    expect(choice.endpoint).toBe('unix:///run/containerd/containerd.sock');
  });

  test('the managed containerd stays once it was taken, even if the other one gets its network', async () => {
    expect((await chooseRuntimeEndpoint(machine(debian, true))).endpoint).toBe(managed);
  });

  test('a managed containerd comes last', async () => {
    expect(await chooseRuntimeEndpoint(machine({}))).toEqual({
      endpoint: managed,
      managed: true,
      named: false,
      because: 'kubelet-ts runs a containerd of its own: no container runtime answers on a well-known socket.',
    });
  });

  test('a socket that was passed over is reported with its reason', async () => {
    const sockets = { 'unix:///run/containerd/containerd.sock': { kind: 'no-cri', error: undefined } } as const;
    expect((await chooseRuntimeEndpoint(machine(sockets))).because).toBe(
      'kubelet-ts runs a containerd of its own: unix:///run/containerd/containerd.sock answers but has no CRI v1 (is its CRI plugin disabled?).',
    );
  });

  test('a well-known socket with a runtime that is too busy to answer is waited for', async () => {
    const sockets = { 'unix:///run/containerd/containerd.sock': busy } as const;
    const asked: string[] = [];
    const probeNamed = (endpoint: string): Promise<ProbeResult> => {
      asked.push(endpoint);
      return Promise.resolve(containerd);
    };
    expect(await chooseRuntimeEndpoint({ ...machine(sockets), probeNamed })).toEqual({
      endpoint: 'unix:///run/containerd/containerd.sock',
      managed: false,
      named: false,
      because: 'containerd 1.7.24 answers on unix:///run/containerd/containerd.sock.',
    });
    expect(asked).toEqual(['unix:///run/containerd/containerd.sock']);
  });

  test('without a wait, a runtime that is too busy to answer is an error', async () => {
    const sockets = { 'unix:///run/containerd/containerd.sock': busy } as const;
    await expect(chooseRuntimeEndpoint(machine(sockets))).rejects.toMatchObject({
      message:
        'The container runtime endpoint unix:///run/containerd/containerd.sock does not answer a CRI Version call: deadline',
      hint: 'Check the log of the runtime.',
    });
  });

  test('a well-known socket that refuses this user is an error', async () => {
    const sockets = { 'unix:///run/containerd/containerd.sock': { kind: 'denied', error: undefined } } as const;
    await expect(chooseRuntimeEndpoint(machine(sockets))).rejects.toMatchObject({
      hint: 'Run it as root: sudo kubelet-ts …',
    });
  });
});

test.each([
  ['/run/a.sock', 'unix:///run/a.sock'],
  ['unix:///run/a.sock', 'unix:///run/a.sock'],
  ['unix:/run/a.sock', 'unix:///run/a.sock'],
])('reads the endpoint %s as %s', (endpoint, expected) => {
  expect(normalizeEndpoint(endpoint)).toBe(expected);
});

test.each(['tcp://127.0.0.1:1', 'run/a.sock', 'npipe:////./pipe/a'])('refuses the endpoint %s', (endpoint) => {
  expect(() => normalizeEndpoint(endpoint)).toThrow('is not a unix socket');
});
