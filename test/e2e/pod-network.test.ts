import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Agent, startAgent } from './agent.ts';
import { containerdReleases } from './containerd-releases.ts';
import { makePod, shell } from './manifests.ts';
import { MountNamespace } from './mount-namespace.ts';
import { RoutedNetwork } from './routed-network.ts';

const web = (name: string, hostPort: number) =>
  makePod(name, {
    hostNetwork: false,
    containers: [
      shell('httpd', `mkdir /www; echo ${name} > /www/index.html; exec httpd -f -p 8080 -h /www`, {
        ports: [{ containerPort: 8080, hostPort }],
        readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
      }),
    ],
  });

describe.each(containerdReleases().slice(-1))('the pod network of a box on containerd $release', (containerd) => {
  let network: RoutedNetwork;
  let mounts: MountNamespace;
  let agent: Agent;

  beforeAll(async () => {
    // The uplink has IPv6 only.
    network = await RoutedNetwork.create({ mtu: 1400 });
    await network.node.run('ip', 'route', 'delete', 'default');
    await network.router.run('ip', 'address', 'add', 'fd77::1/64', 'dev', 'eth0', 'nodad');
    await network.node.run('ip', 'address', 'add', 'fd77::99/64', 'dev', 'eth0', 'nodad');
    await network.node.run('ip', '-6', 'route', 'add', 'default', 'via', 'fd77::1');
    mounts = await MountNamespace.create();
    await mounts.run('sh', '-c', 'mkdir -p /etc/cni/net.d && mount -t tmpfs tmpfs /etc/cni/net.d');
    agent = await startAgent({
      containerd,
      networkNamespace: network.node.path,
      mountNamespace: mounts.path,
      manifests: { 'web.yaml': web('web', 18080) },
    });
    await agent.untilReady('web');
  });
  afterAll(async () => {
    await agent.cleanUp();
    await mounts.remove();
    await network.remove();
  });

  const inPod = async (...command: string[]): Promise<string> =>
    (await agent.cli(['exec', 'web', '--', ...command])).stdout.trim();
  const addressesOf = async (name: string): Promise<string[]> =>
    (await agent.untilReady(name)).pod.status?.podIPs?.map(({ ip = '' }) => ip) ?? [];

  test('has the MTU and the families of the uplink', async () => {
    expect(await inPod('cat', '/sys/class/net/eth0/mtu')).toBe('1400');
    expect((await addressesOf('web')).toSorted()).toEqual([
      expect.stringMatching(/^10\.222\.0\./),
      expect.stringMatching(/^fd[0-9a-f:]+$/),
    ]);
    expect(await inPod('ping', '-6', '-c', '1', '-W', '5', 'fd77::1')).toContain('1 packets received');
    const url = 'http://[fd77::99]:18080/';
    expect(await network.router.run('timeout', '10', 'busybox', 'wget', '-q', '-O', '-', url)).toBe('web');
  });

  test('stays while pods are on it although another configuration appears', async () => {
    const bridge = '{"cniVersion":"0.4.0","name":"podman","plugins":[{"type":"bridge","bridge":"cni-podman0"}]}';
    await mounts.run('sh', '-c', `echo '${bridge}' > /etc/cni/net.d/87-podman.conflist`);
    const since = agent.logs.length;
    process.kill(await agent.containerdPid(), 'SIGKILL');
    await agent.waitForLog(({ msg }) => msg === 'containerd answers again', since);
    await agent.write('second.yaml', web('second', 18081));
    expect(await addressesOf('second')).toContainEqual(expect.stringMatching(/^10\.222\.0\./));
    await agent.waitForLog(({ msg }) => msg.startsWith('/etc/cni/net.d/87-podman.conflist is not used while'), since);
    await mounts.run('rm', '/etc/cni/net.d/87-podman.conflist');
  });

  test('gets another subnet once no pod uses one that a route overlaps, and doctor names both', async () => {
    await network.node.run('ip', 'address', 'add', '10.222.0.200/24', 'dev', 'eth0');
    const sentence =
      "The route 10.222.0.0/24 of eth0 overlaps the pods' subnet 10.222.0.0/24 (bridge kts0ade00), so one of them is cut off";
    expect((await agent.cli(['doctor', '--output', 'json'])).stdout).toContain(JSON.stringify(sentence));
    await agent.stop();
    await agent.start();
    await agent.waitForLog(({ msg }) => msg.startsWith(sentence));
    await agent.down('--all');
    await agent.start();
    await agent.cli(['wait', 'web', 'second']);
    expect(await addressesOf('web')).toContainEqual(expect.stringMatching(/^10\.222\.1\./));
  });
});
