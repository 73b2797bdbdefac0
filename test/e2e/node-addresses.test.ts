import { expect, test } from 'vitest';
import type { Finding } from '../../src/node/doctor/checks/finding.ts';
import type { PodSnapshot } from '../../src/engine/view/snapshot.ts';
import { isReady, startAgent } from './agent.ts';
import { containerdReleases } from './containerd-releases.ts';
import { makePod, serve, shell } from './manifests.ts';
import { NetworkNamespace } from './network-namespace.ts';

const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'site' }, spec: { selector: { app: 'web' } } };

/** A pod on the host network whose server listens only on this address. */
const listening = (name: string, address: string): object =>
  makePod(name, {
    labels: { app: name },
    containers: [
      shell('httpd', `mkdir /www; exec httpd -f -p ${address}:8080 -h /www`, {
        readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
      }),
    ],
  });

const addresses = ({ pod: { status } }: PodSnapshot): string[] => [status?.hostIP ?? '', status?.podIP ?? ''];

test.for(containerdReleases().slice(-1))(
  'the node has the address that its network gets after the agent has started ($release)',
  async (containerd, { onTestFinished }) => {
    const namespace = await NetworkNamespace.create();
    onTestFinished(() => namespace.remove());
    const agent = await startAgent({
      containerd,
      networkNamespace: namespace.path,
      manifests: {
        'site.yaml': service,
        'web.yaml': listening('web', '127.0.0.1'),
        'client.yaml': makePod('client', { hostNetwork: false, containers: [shell('app', serve)] }),
      },
    });
    onTestFinished(() => agent.cleanUp());
    const isAt = (address: string) => (pod: PodSnapshot) => isReady(pod) && addresses(pod)[0] === address;
    await agent.untilPod('web', isAt('127.0.0.1'));
    await agent.untilReady('client');

    await namespace.run('ip', ...'link add eth0 type veth peer name uplink'.split(' '));
    for (const end of ['eth0', 'uplink']) await namespace.run('ip', 'link', 'set', end, 'up');
    await namespace.run('ip', ...'address add 10.77.0.99/24 dev eth0'.split(' '));
    const failing = await agent.untilPod('web', (pod) => !isReady(pod) && addresses(pod)[0] === '10.77.0.99');
    expect(addresses(failing)).toEqual(['10.77.0.99', '10.77.0.99']);
    const { stdout } = await agent.cli(['explain', 'web']);
    expect(stdout).toContain('nothing listens on port 8080 of 10.77.0.99');
    expect(stdout).toContain('let it listen on 0.0.0.0, or set host: 127.0.0.1 in the probe.');

    await namespace.run('ip', ...'address delete 10.77.0.99/24 dev eth0'.split(' '));
    await namespace.run('ip', ...'address add 10.77.0.55/24 dev eth0'.split(' '));
    await agent.write('web.yaml', listening('web', '10.77.0.55'));
    const web = await agent.untilPod('web', isAt('10.77.0.55'));
    expect(addresses(web)).toEqual(['10.77.0.55', '10.77.0.55']);
    const learned = "until grep -q '^10.77.0.55.site' /etc/hosts; do sleep 0.1; done";
    expect((await agent.cli(['exec', 'client', '--', 'sh', '-c', learned])).code).toBe(0);
    expect((await agent.cli(['ps', 'web', '-o', 'wide', '--no-headers'])).stdout).toContain('10.77.0.55');

    // What `doctor` says once the machine keeps packets from pods.
    const broken = [
      'sysctl -qw net.ipv4.ip_forward=0',
      'ip link set eth0 mtu 1400',
      'ip route add default via 10.77.0.1',
      'nft add table inet guard',
      'nft add chain inet guard forward { type filter hook forward priority 0 ; policy drop ; }',
    ];
    for (const command of broken) {
      const [program = '', ...words] = command.split(' ');
      await namespace.run(program, ...words);
    }
    const { findings } = JSON.parse((await agent.cli(['doctor', '-o', 'json'])).stdout) as { findings: Finding[] };
    const kinds = ['ip_forward is 0', 'that of eth0 1400', 'nftables chain inet guard forward drops'];
    const found = findings.flatMap(({ check, evidence }) => (check === 'packets' ? [evidence] : []));
    expect(kinds.filter((kind) => !found.some((evidence) => evidence.includes(kind)))).toEqual([]);

    expect(agent.logs.filter(({ reason }) => reason === 'NodeAddressChanged').map(({ msg }) => msg)).toEqual([
      'The address of the node changed from 127.0.0.1 to 10.77.0.99',
      'The address of the node changed from 10.77.0.99 to 10.77.0.55',
    ]);
  },
);
