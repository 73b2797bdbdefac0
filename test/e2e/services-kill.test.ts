import { spawn } from 'node:child_process';
import { on, once } from 'node:events';
import { watch } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Agent, startAgent } from './agent.ts';
import { containerdReleases } from './containerd-releases.ts';
import { makePod, serve, shell } from './manifests.ts';
import { RoutedNetwork } from './routed-network.ts';

const service = (name: string, spec: object): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { selector: { app: 'web' }, ...spec },
});
const ports = [
  { name: 'tcp', port: 80, targetPort: 9090 },
  { name: 'udp', port: 80, targetPort: 9090, protocol: 'UDP' },
];
const calm = service('calm', { ports });
/** Its rules are in all three tables. */
const changing = service('changing', { type: 'NodePort', ports });

const manifest = (...items: object[]): object => ({ apiVersion: 'v1', kind: 'List', items });

const web = makePod('web', { hostNetwork: false, labels: { app: 'web' }, containers: [shell('app', serve)] });

/** Echoes what it reads, by TCP and UDP. */
const server = `
import socket, threading
def echo(connection):
  while data := connection.recv(99): connection.sendall(data)
def listen():
  tcp = socket.create_server(('', 9090))
  while True: threading.Thread(target=echo, args=tcp.accept()[:1], daemon=True).start()
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(('', 9090))
threading.Thread(target=listen, daemon=True).start()
print('ready', flush=True)
while True: udp.sendto(*udp.recvfrom(99))
`;

/** Asks over old connections and over new ones, and prints what fails. The first line says that everything works. */
const client = `
import socket, sys, time
address = (sys.argv[1], 80)
def udp():
  sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
  sender.settimeout(5)
  sender.connect(address)
  return sender
def ask(connection):
  connection.send(b'x')
  if connection.recv(99) != b'x': raise OSError('no answer')
old = [socket.create_connection(address, 5), udp()]
first = True
while True:
  try:
    for connection in old: ask(connection)
    for connection in (socket.create_connection(address, 5), udp()):
      with connection: ask(connection)
    if first: print('works', flush=True)
    first = False
  except OSError as error: print('failed: ' + repr(error), flush=True)
  time.sleep(0.005)
`;

describe.each(containerdReleases().slice(-1))('a kill of the agent on containerd $release', (containerd) => {
  let network: RoutedNetwork;
  let agent: Agent;
  let folder: string;
  const helpers: ReturnType<typeof spawn>[] = [];

  const python = (words: string[]) => {
    const helper = spawn('nsenter', words, { stdio: ['ignore', 'pipe', 'inherit'] });
    helpers.push(helper);
    return helper;
  };
  const clusterIP = async (name: string): Promise<string> => {
    const { stdout } = await agent.cli(['exec', 'web', '--', 'grep', `\t${name}\t`, '/etc/hosts']);
    return stdout.split('\t')[0] ?? '';
  };
  const listRules = async (): Promise<string[]> =>
    (await network.node.run('iptables-save')).split('\n').filter((line) => line.startsWith('-A KTV'));

  const zonesIn = (rules: string[]): number => rules.filter((rule) => rule.includes('--zone-orig')).length;
  /** Resolves once they are as wanted. The agent changes them only by `iptables-restore`. */
  const untilRules = async (areWanted: (rules: string[]) => boolean): Promise<void> => {
    const watcher = watch(folder);
    const changes = on(watcher, 'change');
    while (!areWanted(await listRules())) await changes.next();
    watcher.close();
  };
  const script = (name: string, text: string): Promise<void> =>
    writeFile(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kts-iptables-'));
    for (const program of ['iptables', 'iptables-save', 'ip6tables', 'ip6tables-save', 'ip6tables-restore'])
      await script(program, `exec /usr/sbin/${program} "$@"`);
    await script(
      'iptables-restore',
      `cd ${folder}
if [ -e kill-after ]
then
  awk -v tables="$(cat kill-after)" 'seen < tables { print } /^COMMIT/ { seen++ }' | /usr/sbin/iptables-restore "$@"
  rm kill-after
  exec kill -9 $PPID
fi
/usr/sbin/iptables-restore "$@"
code=$?
touch restored
exit $code`,
    );
    network = await RoutedNetwork.create();
    agent = await startAgent({
      containerd,
      networkNamespace: network.node.path,
      environment: { PATH: `${folder}:${process.env['PATH'] ?? ''}` },
      manifests: { 'services.json': manifest(calm), 'web.yaml': web },
    });
    await agent.untilReady('web');
    const echo = python(['--net', '--target', `${await agent.sandboxPid('web')}`, 'python3', '-c', server]);
    await once(echo.stdout, 'data');
  });
  afterAll(async () => {
    for (const helper of helpers) helper.kill();
    await agent.cleanUp();
    await network.remove();
    await rm(folder, { recursive: true });
  });

  test('at any step of an update breaks no connection of other Services, and the next agent completes it', async () => {
    const asking = python([`--net=${network.node.path}`, 'python3', '-c', client, await clusterIP('calm')]);
    const answers: string[] = [];
    createInterface({ input: asking.stdout }).on('line', (line) => answers.push(line));
    await once(asking.stdout, 'data');
    const before = await listRules();
    await agent.write('services.json', manifest(calm, changing));
    // The table of these is the last one.
    await untilRules((rules) => zonesIn(rules) === 3);
    const after = await listRules();
    await agent.write('services.json', manifest(calm));
    await untilRules((rules) => zonesIn(rules) === 1);
    expect(await listRules()).toEqual(before);
    for (const tables of [0, 1, 2, 3]) {
      for (const [items, wanted] of [
        [[calm, changing], after],
        [[calm], before],
      ] as const) {
        await writeFile(join(folder, 'kill-after'), `${tables}`);
        await agent.write('services.json', manifest(...items));
        await agent.exit();
        await agent.start();
        await untilRules((rules) => isDeepStrictEqual(rules, wanted));
      }
    }
    expect(answers).toEqual(['works']);
  });
});
