import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PodSnapshot } from '../../src/engine/view/snapshot.ts';
import { type Agent, startAgent } from './agent.ts';
import { containerdReleases } from './containerd-releases.ts';
import { makePod, serve, shell } from './manifests.ts';
import { NetworkNamespace } from './network-namespace.ts';

const site: Parameters<typeof makePod>[1] = {
  hostNetwork: false,
  labels: { app: 'web' },
  containers: [
    shell('httpd', 'mkdir /www; hostname > /www/index.html; exec httpd -f -p 8080 -h /www', {
      ports: [{ containerPort: 8080, hostPort: 8081 }],
      readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
    }),
  ],
};

describe.each(containerdReleases().slice(-1))('the pod network on containerd $release', (containerd) => {
  let namespace: NetworkNamespace;
  let agent: Agent;
  let web: PodSnapshot;
  let client: PodSnapshot;
  let namespacesBefore: string[];

  beforeAll(async () => {
    namespacesBefore = await readdir('/run/netns').catch(() => []);
    namespace = await NetworkNamespace.create();
    agent = await startAgent({
      containerd,
      networkNamespace: namespace.path,
      flags: ['--cluster-domain', 'cluster.local'],
      manifests: {
        'site.yaml': {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name: 'site' },
          spec: { clusterIP: 'None', selector: { app: 'web' }, ports: [{ port: 8080 }] },
        },
        'web.yaml': makePod('web', site),
        'client.yaml': makePod('client', {
          hostNetwork: false,
          hostname: 'caller',
          subdomain: 'office',
          hostAliases: [{ ip: '192.0.2.1', hostnames: ['printer'] }],
          containers: [shell('app', serve)],
        }),
      },
    });
    web = await agent.untilReady('web');
    client = await agent.untilReady('client');
  });
  afterAll(async () => {
    await agent.cleanUp();
    await namespace.remove();
    expect(await readdir('/run/netns').catch(() => [])).toEqual(namespacesBefore);
  });

  const inClient = async (...command: string[]): Promise<string> => {
    const { stdout } = await agent.cli(['exec', 'client', '--', ...command]);
    return stdout;
  };
  const addressOf = ({ pod }: PodSnapshot): string => pod.status?.podIP ?? '';

  test('pods have addresses of their own and reach each other', async () => {
    const addresses = [addressOf(web), addressOf(client)];
    expect(addresses).toEqual([expect.stringMatching(/^10\./), expect.stringMatching(/^10\./)]);
    expect(new Set(addresses).size).toBe(2);
    expect(web.pod.status?.podIPs).toEqual([{ ip: addressOf(web) }]);
    expect(await inClient('wget', '-q', '-O', '-', `http://${addressOf(web)}:8080/`)).toBe('web-edge1\n');
  });

  test('a hostPort is served on the node', async () => {
    expect(await namespace.run('/bin/busybox', 'wget', '-q', '-O', '-', 'http://127.0.0.1:8081/')).toBe('web-edge1');
  });

  test('a pod has its own host name and hosts file', async () => {
    expect(await inClient('hostname')).toBe('caller\n');
    const hosts = (await inClient('cat', '/etc/hosts')).split('\n').filter((line) => /^\d/.test(line));
    expect(hosts.map((line) => line.split(/\s+/))).toEqual([
      ['127.0.0.1', 'localhost'],
      [addressOf(client), 'caller.office.default.svc.cluster.local', 'caller'],
      ['192.0.2.1', 'printer'],
      [addressOf(web), 'site', 'site.default', 'site.default.svc', 'site.default.svc.cluster.local'],
    ]);
  });

  test('ps -o wide shows the addresses', async () => {
    const { stdout } = await agent.cli(['ps', '-o', 'wide', '--no-headers']);
    expect(stdout.split('\n').map((line) => line.split(/\s{2,}/)[6])).toEqual([
      addressOf(client),
      addressOf(web),
      undefined,
    ]);
  });

  test('a headless Service names its pod, also in a running container and with the address of a new sandbox', async () => {
    expect(await inClient('wget', '-q', '-O', '-', 'http://site.default.svc.cluster.local:8080/')).toBe('web-edge1\n');
    await agent.write('web.yaml', makePod('web', { ...site, hostname: 'second' }));
    await agent.cli(['wait', 'web']);
    const address = addressOf(await agent.untilReady('web'));
    expect(address).not.toBe(addressOf(web));
    const learned = `until grep -q "^${address}" /etc/hosts; do sleep 0.1; done`;
    expect(await inClient('sh', '-c', `${learned}; wget -q -O - http://site:8080/`)).toBe('second\n');
  });
});
