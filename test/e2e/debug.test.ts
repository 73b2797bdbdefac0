import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Agent, startAgent } from './agent.ts';
import { containerdReleases } from './containerd-releases.ts';
import { busybox, makePod, serve, shell } from './manifests.ts';
import { VirtualTerminal } from './virtual-terminal.ts';

// The newest release alone, because the namespaces of a container are those of the OCI runtime.
describe.each(containerdReleases().slice(-1))('debug on containerd $release', (containerd) => {
  let agent: Agent;

  beforeAll(async () => {
    agent = await startAgent({
      containerd,
      manifests: {
        'web.json': makePod('web', { containers: [shell('app', serve)] }),
        'user.json': makePod('user', { securityContext: { runAsUser: 1000 }, containers: [shell('app', serve)] }),
      },
    });
    await agent.untilReady('web');
    await agent.untilReady('user');
  });
  afterAll(() => agent.cleanUp());

  const run = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await agent.cli(args);
    return code === 0 ? stdout : `${stdout}${stderr}${code ?? ''}`;
  };
  const pidNamespace = (container: string): Promise<string> =>
    run('exec', 'web', '-c', container, '--', 'readlink', '/proc/self/ns/pid');
  const containers = async (): Promise<(string | undefined)[]> => {
    const { pod } = await agent.untilReady('web');
    return (pod.status?.ephemeralContainerStatuses ?? []).map(({ containerID }) => containerID);
  };

  test('a container with a target sees its processes, and outlives a kill of the agent', async () => {
    const command = ['--', 'sh', '-c', `echo hello $WHO; ${serve}`];
    const flags = ['--image', busybox, '--target', 'app', '-c', 'tools', '--env', 'WHO=you'];
    expect(await run('debug', 'web', ...flags, ...command)).toBe('tools\n');
    await agent.until(({ pods }) =>
      pods.some(({ pod }) => pod.status?.ephemeralContainerStatuses?.[0]?.state?.running !== undefined),
    );
    expect(await pidNamespace('tools')).toBe(await pidNamespace('app'));
    expect(await run('exec', 'web', '-c', 'tools', '--', 'ps', '-o', 'args')).toContain('sh -c trap "exit 0" TERM');
    const [id] = await containers();
    expect(id).toMatch(/^containerd:/);

    await agent.kill9();
    await agent.start();
    expect(await containers()).toEqual([id]);
    expect(await run('logs', 'web', '-c', 'tools')).toBe('hello you\n');
    expect(await run('describe', 'web')).toMatch(/^Ephemeral Containers:\n {2}tools:\n/m);
    expect(await run('ps', '-o', 'wide', '--no-headers')).toContain('sync, tools');
    expect(await run('debug', 'web', '-c', 'tools')).toContain('pod web-edge1 has a container tools already');

    expect(await run('debug', 'web', '--remove', 'tools')).toBe('container tools of pod web-edge1 is removed\n');
    await agent.until(({ pods }) => pods.every(({ pod }) => pod.spec.ephemeralContainers === undefined));
    expect(await run('logs', 'web', '-c', 'tools')).toContain('container "tools" not found');
  });

  test('-i --rm passes stdin, and leaves nothing behind', async () => {
    const { code, stdout, stderr } = await agent.cli(['debug', '-i', '--rm', 'web', '--', 'sh'], {
      input: 'echo sum $((40 + 2))\nexit\n',
    });
    expect([code, stdout]).toEqual([0, 'sum 42\n']);
    expect(stderr).toMatch(/^Defaulting debug container name to debugger-[a-z0-9]{5}\.\n$/);
    const { pods } = await agent.until((snapshot) =>
      snapshot.pods.every(({ pod }) => pod.status?.ephemeralContainerStatuses === undefined),
    );
    expect(pods.map(({ pod }) => pod.spec.ephemeralContainers)).toEqual([undefined, undefined]);
  });

  test.each<[string, Record<string, boolean>]>([
    // The sets of containerd: its default one with a further one, or all.
    ['general', { SYS_PTRACE: true }],
    ['sysadmin', { SYS_PTRACE: true, NET_ADMIN: true, SYS_ADMIN: true }],
  ])('--profile %s gives the privileges that kubectl debug gives', async (profile, added) => {
    const words = ['debug', '-i', '--rm', '--profile', profile, 'web', '--', 'grep', 'CapEff', '/proc/self/status'];
    const effective = BigInt(`0x${(await run(...words)).replace(/^CapEff:\s*/, '').trim()}`);
    const bits = { SYS_PTRACE: 19n, NET_ADMIN: 12n, SYS_ADMIN: 21n };
    const has = Object.entries(bits).map(([name, bit]) => [name, ((effective >> bit) & 1n) === 1n]);
    expect(Object.fromEntries(has)).toEqual({ SYS_PTRACE: false, NET_ADMIN: false, SYS_ADMIN: false, ...added });
  });

  test('--profile restricted takes every privilege, and refuses to run as root', async () => {
    const file = ['--', 'grep', '-E', 'CapEff|NoNewPrivs|Seccomp:', '/proc/self/status'];
    expect(await run('debug', '-i', '--rm', '--profile', 'restricted', 'user', ...file)).toBe(
      'CapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n',
    );
    await agent.until(({ pods }) => pods.every(({ pod }) => pod.status?.ephemeralContainerStatuses === undefined));
    expect(await run('debug', '--profile', 'restricted', '-c', 'safe', 'web')).toBe('safe\n');
    const { pods } = await agent.until((snapshot) =>
      snapshot.pods.some(
        ({ pod }) => pod.status?.ephemeralContainerStatuses?.[0]?.state?.waiting?.message !== undefined,
      ),
    );
    const statuses = pods.flatMap(({ pod }) => pod.status?.ephemeralContainerStatuses ?? []);
    expect(statuses.map(({ state }) => state?.waiting?.reason)).toEqual(['CreateContainerConfigError']);
    await run('debug', 'web', '--remove', 'safe');
  });

  test('the detach keys leave a container running that --rm would remove', async () => {
    const words = agent.commandLine(['debug', '-it', '--rm', '-c', 'left', 'web', '--', 'sh']);
    const terminal = await VirtualTerminal.open(`${words.join(' ')}; echo "code $?"`, { columns: 90, rows: 20 });
    onTestFinished(() => terminal.close());
    await terminal.until((screen) => screen.includes('Attached to container left'));
    await terminal.press('C-p');
    await terminal.press('C-q');
    await terminal.until((screen) => screen.includes('code 0'));
    expect(await run('exec', 'web', '-c', 'left', '--', 'echo', 'still here')).toBe('still here\n');
    await run('debug', 'web', '--remove', 'left');
  });

  test('-i prints the answer to the end of stdin', async () => {
    const words = ['debug', '-it', '--rm', '-c', 'sorter', 'web', '--', 'sort'];
    const note = 'Unable to use a TTY - input is not a terminal or the right kind of file\n';
    expect(await agent.cli(words, { input: 'b\na\n' })).toEqual({ code: 0, stdout: 'a\nb\n', stderr: note });
  });

  test('-i prints the output of a container that ends at once', async () => {
    const command = ['--', 'sh', '-c', 'echo out; echo err >&2; printf end'];
    for (const name of ['short1', 'short2', 'short3']) {
      const printed = await agent.cli(['debug', '-i', '--rm', '-c', name, 'web', ...command]);
      expect(printed).toEqual({ code: 0, stdout: 'out\nend', stderr: 'err\n' });
    }
  });

  test('an image that is missing is reported, and the pod stays Ready', async () => {
    const missing = ['--image', 'localhost/missing:1', '--image-pull-policy', 'Never', '-c', 'missing'];
    expect(await run('debug', 'web', ...missing)).toBe('missing\n');
    await agent.until(({ pods }) =>
      pods.some(
        ({ pod }) => pod.status?.ephemeralContainerStatuses?.[0]?.state?.waiting?.reason === 'ErrImageNeverPull',
      ),
    );
    await agent.untilReady('web');
    await run('debug', 'web', '--remove', 'missing');
  });
});
