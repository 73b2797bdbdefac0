import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { managedPaths } from '../../src/containerd/managed-paths.ts';
import { type Agent, startAgent } from './agent.ts';
import { containerdReleases } from './containerd-releases.ts';
import { makePod, serve, shell } from './manifests.ts';
import { MountNamespace } from './mount-namespace.ts';
import type { NetworkNamespace } from './network-namespace.ts';
import { RoutedNetwork } from './routed-network.ts';

const service = (name: string, spec: object): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }], ...spec },
});

const list = (...items: object[]): object => ({ apiVersion: 'v1', kind: 'List', items });

/** Answers `web`, or the address of the client as the pod sees it. */
const site = `
mkdir -p /www/cgi-bin
echo web > /www/index.html
printf '#!/bin/sh\\necho; echo $REMOTE_ADDR' > /www/cgi-bin/client
chmod +x /www/cgi-bin/client
exec httpd -f -p 8080 -h /www`;

const web = makePod('web', {
  hostNetwork: false,
  labels: { app: 'web' },
  containers: [
    shell('httpd', site, {
      ports: [{ containerPort: 8080, hostPort: 18_080 }],
      readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
    }),
  ],
});
const client = makePod('cli', { hostNetwork: false, containers: [shell('app', serve)] });

const getFrom = (host: string): string[] => [
  ...['timeout', '10', 'busybox', 'wget', '-q', '-O', '-'],
  `http://${host}${host.includes('/') ? '' : '/'}`,
];

const ask = (namespace: NetworkNamespace, host: string): Promise<string> =>
  namespace.run(...(getFrom(host) as [string, ...string[]])).catch(String);

async function askFromPod(agent: Agent, host: string): Promise<string> {
  const { stdout, stderr } = await agent.cli(['exec', 'cli', '--', ...getFrom(host)]);
  return stdout.trim() || stderr;
}

/** The addresses of a Service in the hosts file of the client. */
async function addressesOf(agent: Agent, name: string): Promise<string[]> {
  const { stdout } = await agent.cli(['exec', 'cli', '--', 'grep', `\t${name}\t`, '/etc/hosts']);
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.split('\t')[0] ?? '');
}

const ipv4 = expect.stringMatching(/^10\.223\./) as string;
const ipv6 = expect.stringMatching(/^fd[0-9a-f:]+$/) as string;

describe.each(containerdReleases().slice(-1))('Services of both families on containerd $release', (containerd) => {
  let network: RoutedNetwork;
  let agent: Agent;
  let before: string[];

  /** The rules and chains of both families. */
  const listRules = async (): Promise<string[]> => {
    const saved = [await network.node.run('iptables-save'), await network.node.run('ip6tables-save')];
    return saved.flatMap((text) => text.split('\n').filter((line) => line.startsWith('-') || line.startsWith(':KT')));
  };

  beforeAll(async () => {
    network = await RoutedNetwork.create();
    await network.router.run('ip', 'address', 'add', 'fd77::1/64', 'dev', 'eth0', 'nodad');
    await network.node.run('ip', 'address', 'add', 'fd77::99/64', 'dev', 'eth0', 'nodad');
    await network.node.run('ip', '-6', 'route', 'add', 'default', 'via', 'fd77::1');
    for (const iptables of ['iptables', 'ip6tables']) await network.node.run(iptables, '-P', 'FORWARD', 'DROP');
    before = await listRules();
    agent = await startAgent({
      containerd,
      networkNamespace: network.node.path,
      manifests: {
        'services.json': list(
          service('single', {}),
          service('six', { ipFamilies: ['IPv6'], sessionAffinity: 'ClientIP' }),
          service('dual', {
            type: 'NodePort',
            ipFamilyPolicy: 'RequireDualStack',
            ports: [{ port: 80, targetPort: 8080, nodePort: 30_080 }],
          }),
          service('local', {
            type: 'NodePort',
            ipFamilyPolicy: 'PreferDualStack',
            externalTrafficPolicy: 'Local',
            ports: [{ port: 80, targetPort: 8080, nodePort: 30_081 }],
          }),
          service('none', { ipFamilies: ['IPv6'], selector: { app: 'none' } }),
        ),
        'web.json': web,
        'cli.json': client,
      },
    });
    for (const name of ['web', 'cli']) await agent.untilReady(name);
  });
  afterAll(async () => {
    await agent.cleanUp();
    await network.remove();
  });

  test('have the addresses that they ask for', async () => {
    expect(await addressesOf(agent, 'single')).toEqual([ipv4]);
    expect(await addressesOf(agent, 'six')).toEqual([ipv6]);
    expect(await addressesOf(agent, 'dual')).toEqual([ipv4, ipv6]);
  });

  test('lead to their pods, from pods and from the node', async () => {
    const [six = ''] = await addressesOf(agent, 'six');
    const [four = '', other = ''] = await addressesOf(agent, 'dual');
    const hosts = ['single', 'six', 'dual', `[${six}]`, four, `[${other}]`];
    expect(await Promise.all(hosts.map((host) => askFromPod(agent, host)))).toEqual(hosts.map(() => 'web'));
    const fromNode = [`[${six}]`, four, `[${other}]`];
    expect(await Promise.all(fromNode.map((host) => ask(network.node, host)))).toEqual(fromNode.map(() => 'web'));
  });

  test('have ports of the node in both families', async () => {
    const hosts = ['10.77.0.99:30080', '[fd77::99]:30080'];
    for (const namespace of [network.router, network.node])
      expect(await Promise.all(hosts.map((host) => ask(namespace, host)))).toEqual(['web', 'web']);
    expect(await Promise.all(hosts.map((host) => askFromPod(agent, host)))).toEqual(['web', 'web']);
    expect(await ask(network.node, '127.0.0.1:30080')).toBe('web');
  });

  test('show pods the address of a client outside with externalTrafficPolicy: Local', async () => {
    const hosts = ['10.77.0.99:30081', '[fd77::99]:30081', '10.77.0.99:30080', '[fd77::99]:30080'];
    const seen = await Promise.all(hosts.map((host) => ask(network.router, `${host}/cgi-bin/client`)));
    expect(seen.map((address) => address.replace(/[[\]]|::ffff:/g, ''))).toEqual([
      '10.77.0.1',
      'fd77::1',
      expect.stringMatching(/^10\.222\.\d+\.1$/),
      expect.stringMatching(/^fd(?!77)/),
    ]);
  });

  test('refuse connections without a Ready pod', async () => {
    expect(await askFromPod(agent, 'none')).toContain('Connection refused');
    expect(await ask(network.node, `[${(await addressesOf(agent, 'none')).join()}]`)).toContain('Connection refused');
  });

  test('go with the pods', async () => {
    expect(await listRules()).not.toEqual(before);
    await agent.down('--all');
    expect(await listRules()).toEqual(before);
    await agent.start();
  });
});

const theirNetwork = {
  cniVersion: '0.4.0',
  name: 'theirs',
  plugins: [
    {
      type: 'bridge',
      bridge: 'theirs0',
      isGateway: true,
      ipMasq: true,
      hairpinMode: true,
      ipam: { type: 'host-local', ranges: [[{ subnet: '10.99.0.0/24' }]], routes: [{ dst: '0.0.0.0/0' }] },
    },
    { type: 'portmap', capabilities: { portMappings: true } },
  ],
};

describe.each(containerdReleases().slice(-1))(
  "Services on another program's containerd $release with its own network",
  (containerd) => {
    let network: RoutedNetwork;
    let mounts: MountNamespace;
    let folder: string;
    let theirs: Agent;
    let agent: Agent;

    beforeAll(async () => {
      network = await RoutedNetwork.create();
      mounts = await MountNamespace.create();
      folder = await mkdtemp(join(tmpdir(), 'kts-cni-'));
      await writeFile(join(folder, '10-theirs.conflist'), JSON.stringify(theirNetwork));
      await mounts.run('sh', '-c', `mkdir -p /etc/cni/net.d && mount --bind ${folder} /etc/cni/net.d`);
      const where = { containerd, networkNamespace: network.node.path, mountNamespace: mounts.path };
      theirs = await startAgent(where);
      agent = await startAgent({
        ...where,
        flags: ['--container-runtime-endpoint', managedPaths(theirs.rootDir).endpoint],
        manifests: {
          'services.json': list(
            service('web', { type: 'NodePort', ports: [{ port: 80, targetPort: 8080, nodePort: 30_080 }] }),
          ),
          'web.json': web,
          'cli.json': client,
        },
      });
      for (const name of ['web', 'cli']) await agent.untilReady(name);
    });
    afterAll(async () => {
      await agent.cleanUp();
      await theirs.cleanUp();
      await mounts.remove();
      await network.remove();
      await rm(folder, { recursive: true });
    });

    test('lead to their pods, from pods, the node and outside', async () => {
      const [ip = ''] = await addressesOf(agent, 'web');
      expect(ip).toEqual(ipv4);
      expect((await agent.untilReady('web')).pod.status?.podIP).toMatch(/^10\.99\.0\./);
      expect(await askFromPod(agent, 'web')).toBe('web');
      expect(await askFromPod(agent, '10.77.0.99:30080')).toBe('web');
      expect(await ask(network.node, ip)).toBe('web');
      expect(await ask(network.node, '10.77.0.99:30080')).toBe('web');
      expect(await ask(network.router, '10.77.0.99:30080')).toBe('web');
    });

    test('leave its host ports as they are', async () => {
      expect(await ask(network.router, '10.77.0.99:18080')).toBe('web');
    });
  },
);
