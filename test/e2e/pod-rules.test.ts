import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Agent, startAgent } from './agent.ts';
import { containerdReleases } from './containerd-releases.ts';
import { deadlineMs } from './deadline.ts';
import { makePod, serve, shell } from './manifests.ts';
import { RoutedNetwork } from './routed-network.ts';
import type { NetworkNamespace } from './network-namespace.ts';
import { udpSender, udpServer } from './udp-programs.ts';

const web = (version: string) =>
  makePod('web', {
    hostNetwork: false,
    annotations: { version },
    containers: [
      shell('httpd', `mkdir /www; echo ${version} > /www/index.html; exec httpd -f -p 8080 -h /www`, {
        ports: [
          { containerPort: 8080, hostPort: 18080 },
          { containerPort: 9090, hostPort: 18080, protocol: 'UDP' },
        ],
        readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
      }),
    ],
  });

/** The answers of the host port: TCP and UDP from outside, from the node, and from pods. */
const all = (version: string): string[] => Array.from({ length: 6 }, () => version);

describe.each(containerdReleases().slice(-1))('the rules of the pod network on containerd $release', (containerd) => {
  let network: RoutedNetwork;
  let agent: Agent;
  let before: string;

  /** What iptables lists, without counters and tables in which there is nothing. */
  const listRules = async (): Promise<string> => {
    const lines = (await network.node.run('iptables-save')).split('\n');
    return lines.filter((line) => line.startsWith('-') || /^:\S+ (?!ACCEPT)/.test(line)).join('\n');
  };

  const helpers: ChildProcess[] = [];
  /** Serves the UDP port in the network of the pod. */
  const serveUDP = async (version: string): Promise<void> => {
    const words = ['--net', '--target', `${await agent.sandboxPid('web')}`, 'python3', '-c', udpServer, version];
    const server = spawn('nsenter', words, { stdio: ['ignore', 'pipe', 'ignore'] });
    helpers.push(server);
    await once(server.stdout, 'data');
  };

  beforeAll(async () => {
    network = await RoutedNetwork.create();
    await network.node.run('iptables', '-P', 'FORWARD', 'DROP');
    await network.node.run('iptables', '-A', 'FORWARD', '-j', 'REJECT');
    before = await listRules();
    agent = await startAgent({
      containerd,
      networkNamespace: network.node.path,
      manifests: {
        'web.yaml': web('first'),
        'cli.yaml': makePod('cli', { hostNetwork: false, containers: [shell('app', serve)] }),
      },
    });
    await agent.untilReady('web');
    await agent.untilReady('cli');
    await serveUDP('first');
  });
  afterAll(async () => {
    for (const helper of helpers) helper.kill();
    await agent.cleanUp();
    await network.remove();
  });

  const ask = async (namespace: NetworkNamespace, host: string): Promise<string> =>
    namespace.run('timeout', '10', '/bin/busybox', 'wget', '-q', '-O', '-', `http://${host}:18080/`).catch(String);
  const askByUDP = async (namespace: NetworkNamespace, host: string): Promise<string> =>
    namespace
      .run('timeout', '10', 'bash', '-c', `exec 3<>/dev/udp/${host}/18080; echo >&3; head -n 1 <&3`)
      .catch(String);
  const askFrom = async (pod: string): Promise<string> => {
    const { stdout, stderr } = await agent.cli([
      'exec',
      pod,
      '--',
      'timeout',
      '10',
      'wget',
      '-q',
      '-O',
      '-',
      'http://10.77.0.99:18080/',
    ]);
    return stdout.trim() || stderr;
  };
  const answers = async (): Promise<string[]> =>
    Promise.all([
      ask(network.router, '10.77.0.99'),
      ask(network.node, '10.77.0.99'),
      ask(network.node, '127.0.0.1'),
      askFrom('cli'),
      askFrom('web'),
      askByUDP(network.router, '10.77.0.99'),
    ]);
  const egress = async (): Promise<number | undefined> =>
    (await agent.cli(['exec', 'cli', '--', 'ping', '-c', '1', '-W', '5', '10.77.0.1'])).code;

  test('let host ports and egress through whatever FORWARD does', async () => {
    expect(await answers()).toEqual(all('first'));
    expect(await egress()).toBe(0);
  });

  test('are made again within a minute after a flush, with one event', async () => {
    await network.node.run('nft', 'flush', 'ruleset');
    await network.node.run('iptables', '-P', 'FORWARD', 'DROP');
    await network.node.run('iptables', '-A', 'FORWARD', '-j', 'REJECT');
    await agent.waitForLog(({ reason }) => reason === 'NetworkRulesRestored');
    expect(await answers()).toEqual(all('first'));
    expect(await egress()).toBe(0);
    expect(agent.logs.filter(({ reason }) => reason === 'NetworkRulesRestored')).toHaveLength(1);
  });

  test('lead a sender of UDP that never pauses to the next pod', async () => {
    const words = [`--net=${network.router.path}`, 'python3', '-c', udpSender, '10.77.0.99', '18080'];
    const sender = spawn('nsenter', words, { stdio: ['ignore', 'pipe', 'inherit'] });
    helpers.push(sender);
    const signal = AbortSignal.timeout(deadlineMs);
    const heard = async (version: string): Promise<void> => {
      for (let text = ''; !text.includes(version);) text = String((await once(sender.stdout, 'data', { signal }))[0]);
    };
    await heard('first');
    await agent.write('web.yaml', web('second'));
    await agent.cli(['wait', 'web']);
    await agent.untilReady('web');
    await serveUDP('second');
    await heard('second');
  });

  test('stay while no agent runs, and are made again with the bridge when it starts', async () => {
    await agent.kill9();
    expect(await ask(network.router, '10.77.0.99')).toBe('second');
    await network.node.run('iptables', '-t', 'nat', '-F');
    const bridge = /kts[0-9a-f]+/.exec(await network.node.run('ip', '-o', 'link'))?.[0] ?? '';
    await network.node.run('ip', 'address', 'flush', 'dev', bridge);
    await network.node.run('ip', 'link', 'set', bridge, 'down');
    expect((await agent.cli(['doctor'])).stdout).toContain(
      `The bridge ${bridge} is down, has no address or was removed`,
    );
    await agent.start();
    await agent.waitForLog(({ msg }) => msg.startsWith('The bridge of the pods was down or had lost its address'));
    expect(await answers()).toEqual(all('second'));
  });

  test('lead packets away from a program only with a warning that names it', async () => {
    const server = `import socket; s = socket.create_server(('', 18090)); print('ready', flush=True); s.accept()`;
    const listener = spawn('nsenter', [`--net=${network.node.path}`, 'python3', '-c', server], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    helpers.push(listener);
    await once(listener.stdout, 'data');
    const ports = [{ containerPort: 80, hostPort: 18090 }];
    const pod = makePod('late', { hostNetwork: false, containers: [shell('app', serve, { ports })] });
    await agent.write('late.yaml', pod);
    expect((await agent.waitForLog(({ reason }) => reason === 'HostPortInUse')).msg).toBe(
      `python3 (PID ${listener.pid}) of this node listens on host port 18090/TCP: the pod gets its packets while it runs`,
    );
    for (const command of ['validate', 'doctor']) {
      const { stdout } = await agent.cli([command, join(agent.rootDir, 'manifests/late.yaml')]);
      expect(stdout).toContain(`python3 (PID ${listener.pid}) of this node listens on host port 18090/TCP`);
    }
    await agent.untilReady('late');
  });

  test('go with the pods, also that of an earlier release', async () => {
    await network.node.run('iptables', '-N', 'KUBELET-TS-FORWARD');
    await network.node.run('iptables', '-A', 'FORWARD', '-j', 'KUBELET-TS-FORWARD');
    await agent.down('--all');
    expect(await listRules()).toBe(before);
    await agent.start();
  });
});
