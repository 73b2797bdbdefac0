import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Agent, startAgent } from './agent.ts';
import { containerdReleases } from './containerd-releases.ts';
import { deadlineMs } from './deadline.ts';
import { makePod, serve, shell } from './manifests.ts';
import { RoutedNetwork } from './routed-network.ts';
import type { NetworkNamespace } from './network-namespace.ts';
import { udpSender, udpServer } from './udp-programs.ts';

const service = (name: string, spec: object): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { selector: { app: 'web' }, ...spec },
});

const ports = [{ name: 'http', port: 80, targetPort: 'http' }];
const services = {
  apiVersion: 'v1',
  kind: 'List',
  items: [
    service('web', { type: 'NodePort', ports: [{ ...ports[0], nodePort: 30_080 }] }),
    service('sticky', { ports, sessionAffinity: 'ClientIP' }),
    service('udp', { ports: [{ port: 53, targetPort: 9090, protocol: 'UDP' }] }),
    service('sctp', { ports: [{ port: 80, targetPort: 9090, protocol: 'SCTP' }] }),
    service('none', { selector: { app: 'none' }, ports: [{ port: 80 }] }),
    service('outside', { selector: undefined, ports: [{ port: 80 }] }),
    {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'outside' },
      subsets: [{ addresses: [{ ip: '10.77.0.1' }], ports: [{ port: 8088 }] }],
    },
    service('node', { selector: { app: 'host' }, ports: [{ port: 80, targetPort: 8089 }] }),
  ],
};

/** A web server that answers with its name. */
const web = (name: string) =>
  makePod(name, {
    hostNetwork: false,
    labels: { app: 'web' },
    containers: [
      shell('httpd', `mkdir /www; echo ${name} > /www/index.html; exec httpd -f -p 8080 -h /www`, {
        ports: [{ name: 'http', containerPort: 8080 }],
        readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
      }),
    ],
  });

const onNode = makePod('host', {
  labels: { app: 'host' },
  containers: [
    shell('httpd', 'mkdir /www; echo host > /www/index.html; exec httpd -f -p 8089 -h /www', {
      readinessProbe: { tcpSocket: { port: 8089 }, periodSeconds: 1 },
    }),
  ],
});

/** Prints the port to which the first packet of SCTP is addressed. Raw sockets work without the kernel's module. */
const sctpServer = `
import socket, struct
server = socket.socket(socket.AF_INET, socket.SOCK_RAW, 132)
print('ready', flush=True)
print(*struct.unpack('!H', server.recv(99)[22:24]), flush=True)
`;

/** Sends the first packet of a connection (RFC 9260: INIT) to port 80 of the address in its argument. */
const sctpSender = `
import socket, struct, sys
init = struct.pack('!HHIIBBHIIHHI', 5000, 80, 0, 0, 1, 0, 20, 7, 1500, 1, 1, 1)
socket.socket(socket.AF_INET, socket.SOCK_RAW, 132).sendto(init, (sys.argv[1], 0))
`;

describe.each(containerdReleases().slice(-1))('Services on containerd $release', (containerd) => {
  let network: RoutedNetwork;
  let agent: Agent;
  let before: string;
  const helpers: ChildProcess[] = [];

  /** What iptables lists, without counters and tables in which there is nothing. */
  const listRules = async (): Promise<string> => {
    const lines = (await network.node.run('iptables-save')).split('\n');
    return lines.filter((line) => line.startsWith('-') || /^:\S+ (?!ACCEPT)/.test(line)).join('\n');
  };

  const start = (command: string, ...words: string[]): ChildProcess => {
    const helper = spawn(command, words, { stdio: ['ignore', 'pipe', 'inherit'] });
    helpers.push(helper);
    return helper;
  };

  beforeAll(async () => {
    network = await RoutedNetwork.create();
    await network.node.run('iptables', '-P', 'FORWARD', 'DROP');
    await network.node.run('iptables', '-A', 'FORWARD', '-j', 'REJECT');
    before = await listRules();
    const folder =
      'import os; os.makedirs("/tmp/kts-outside", exist_ok=True); open("/tmp/kts-outside/index.html", "w").write("outside")';
    await network.router.run('python3', '-c', folder);
    start(
      'nsenter',
      `--net=${network.router.path}`,
      '/bin/busybox',
      'httpd',
      '-f',
      '-p',
      '8088',
      '-h',
      '/tmp/kts-outside',
    );
    agent = await startAgent({
      containerd,
      networkNamespace: network.node.path,
      manifests: {
        'services.json': services,
        'a.yaml': web('web-a'),
        'b.yaml': web('web-b'),
        'host.yaml': onNode,
        'cli.yaml': makePod('cli', { hostNetwork: false, containers: [shell('app', serve)] }),
      },
    });
    for (const name of ['web-a', 'web-b', 'host', 'cli']) await agent.untilReady(name);
  });
  afterAll(async () => {
    for (const helper of helpers) helper.kill();
    await agent.cleanUp();
    await network.remove();
    await rm('/tmp/kts-outside', { recursive: true, force: true });
  });

  const clusterIP = async (name: string): Promise<string> => {
    const { stdout } = await agent.cli(['exec', 'cli', '--', 'grep', `\t${name}\t`, '/etc/hosts']);
    return stdout.split('\t')[0] ?? '';
  };
  const ask = async (namespace: NetworkNamespace, host: string): Promise<string> =>
    (
      await namespace.run('timeout', '10', '/bin/busybox', 'wget', '-q', '-O', '-', `http://${host}/`).catch(String)
    ).trim();
  const askFrom = async (pod: string, host: string): Promise<string> => {
    const words = ['exec', pod, '--', 'timeout', '10', 'wget', '-q', '-O', '-', `http://${host}/`];
    const { stdout, stderr } = await agent.cli(words);
    return stdout.trim() || stderr;
  };
  /** The answers of 16 requests, without doubles. */
  const several = async (namespace: NetworkNamespace, host: string): Promise<string[]> => {
    const answers = await Promise.all(Array.from({ length: 16 }, () => ask(namespace, host)));
    return [...new Set(answers)].sort();
  };
  const severalFrom = async (pod: string, host: string): Promise<string[]> => {
    const loop = `for i in $(seq 16); do timeout 10 wget -q -O - http://${host}/ 2>&1; done`;
    const { stdout } = await agent.cli(['exec', pod, '--', 'sh', '-c', loop]);
    return [...new Set(stdout.trim().split('\n'))].sort();
  };
  const both = ['web-a', 'web-b'];

  test('lead to named ports of their pods, from pods, the node and outside', async () => {
    const ip = await clusterIP('web');
    expect(ip).toMatch(/^10\.223\./);
    expect(await severalFrom('cli', 'web')).toEqual(both);
    expect(await severalFrom('web-a', 'web')).toEqual(both);
    expect(await several(network.node, ip)).toEqual(both);
    expect(await several(network.node, '127.0.0.1:30080')).toEqual(both);
    expect(await several(network.router, '10.77.0.99:30080')).toEqual(both);
    expect(await severalFrom('cli', '10.77.0.99:30080')).toEqual(both);
  });

  test('lead to pods on the host network and to addresses outside', async () => {
    expect(await askFrom('cli', 'node')).toBe('host');
    expect(await ask(network.node, await clusterIP('node'))).toBe('host');
    expect(await askFrom('cli', 'outside')).toBe('outside');
    expect(await ask(network.node, await clusterIP('outside'))).toBe('outside');
  });

  test('lead a client to the same pod if they have affinity', async () => {
    expect(await severalFrom('cli', 'sticky')).toHaveLength(1);
  });

  test('refuse connections without a Ready pod, and on other ports', async () => {
    expect(await askFrom('cli', 'none')).toContain('Connection refused');
    expect(await askFrom('cli', 'web:81')).toContain('Connection refused');
    expect(await ask(network.node, await clusterIP('none'))).toContain('Connection refused');
  });

  test('give containers variables', async () => {
    const { stdout } = await agent.cli([
      'exec',
      'cli',
      '--',
      'sh',
      '-c',
      'echo $WEB_SERVICE_HOST:$WEB_SERVICE_PORT_HTTP',
    ]);
    expect(stdout).toBe(`${await clusterIP('web')}:80\n`);
  });

  test('lead a sender of UDP that never pauses to another pod', async () => {
    const serveUDP = async (pod: string): Promise<void> => {
      const words = ['--net', '--target', `${await agent.sandboxPid(pod)}`, 'python3', '-c', udpServer, pod];
      const server = start('nsenter', ...words);
      if (server.stdout !== null) await once(server.stdout, 'data');
    };
    await serveUDP('web-a');
    await serveUDP('web-b');
    const ip = await clusterIP('udp');
    const sender = start('nsenter', `--net=${network.node.path}`, 'python3', '-c', udpSender, ip, '53');
    const signal = AbortSignal.timeout(deadlineMs);
    const heard = async (names: string[]): Promise<string> => {
      for (;;) {
        const [chunk] = sender.stdout === null ? [] : ((await once(sender.stdout, 'data', { signal })) as [Buffer]);
        const found = names.find((name) => String(chunk).includes(name));
        if (found !== undefined) return found;
      }
    };
    const first = await heard(both);
    const [other = ''] = both.filter((name) => name !== first);
    await agent.remove(`${first.slice(-1)}.yaml`);
    expect(await heard([other])).toBe(other);
    await agent.until(({ pods }) => !pods.some(({ pod }) => pod.metadata.name.startsWith(first)));
    await agent.write(`${first.slice(-1)}.yaml`, web(first));
    await agent.untilReady(first);
  });

  test('lead SCTP to their pods', async () => {
    const servers = await Promise.all(
      both.map(async (pod) => {
        const words = ['--net', '--target', `${await agent.sandboxPid(pod)}`, 'python3', '-c', sctpServer];
        const server = start('nsenter', ...words);
        if (server.stdout === null) throw new Error('no output');
        const lines = createInterface({ input: server.stdout });
        await once(lines, 'line');
        return lines;
      }),
    );
    const first = Promise.race(servers.map((lines) => once(lines, 'line')));
    await network.node.run('python3', '-c', sctpSender, await clusterIP('sctp'));
    expect(await first).toEqual(['9090']);
  });

  test('stay while no agent runs, and keep their addresses', async () => {
    const ip = await clusterIP('web');
    await agent.kill9();
    expect(await several(network.router, '10.77.0.99:30080')).toEqual(both);
    expect(await several(network.node, ip)).toEqual(both);
    await agent.start();
    await agent.untilReady('web-a');
    expect(await clusterIP('web')).toBe(ip);
    expect(await several(network.node, ip)).toEqual(both);
  });

  test('go with the pods', async () => {
    await agent.down('--all');
    expect(await listRules()).toBe(before);
    await agent.start();
  });
});
