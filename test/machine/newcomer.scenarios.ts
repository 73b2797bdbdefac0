import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { makePod, serve, shell } from '../e2e/manifests.ts';
import { Machine } from './machine.ts';

const manifests = '/etc/kubernetes/manifests';
/** Another machine, as far as this one can tell. */
const outside = 'ip netns exec outside';

let machine: Machine;

/** A Debian as its packages leave it: containerd and Docker run, and systemd-resolved answers on loopback. */
beforeAll(async () => {
  const names = ['MACHINE', 'MACHINE_PAYLOAD', 'MACHINE_FOLDER'];
  const [made = '', payload = '', parent = ''] = names.map((name) => process.env[name]);
  const folder = join(parent, 'newcomer');
  await mkdir(folder);
  machine = await Machine.create({ made, payload, folder });
  await machine.boot();
  await machine.run('mkdir -p /etc/systemd/resolved.conf.d');
  await machine.write('/etc/systemd/resolved.conf.d/upstream.conf', '[Resolve]\nDNS=192.0.2.2\n');
  await machine.run('systemctl enable --now systemd-resolved containerd docker');
  await machine.run('ln -sf ../run/systemd/resolve/stub-resolv.conf /etc/resolv.conf');
  await machine.run('ip netns add outside && ip link add wire0 type veth peer name wire1 netns outside');
  await machine.run('ip address add 192.0.2.1/24 dev wire0 && ip link set wire0 up');
  await machine.run(
    `${outside} sh -c 'ip address add 192.0.2.2/24 dev wire1; ip link set wire1 up; ip link set lo up'`,
  );
  const dnsmasq = 'dnsmasq --user=root --no-resolv --no-hosts --address=/registry.example/192.0.2.80';
  await machine.run(`${outside} ${dnsmasq}`);
  await machine.run(`mkdir -p ${manifests} && apt-get install --yes /payload/kubelet-ts*.deb`);
  await machine.run('systemctl enable --now kubelet-ts');
  await machine.run('kubelet-ts images load /payload/busybox.tar');
});
afterEach(async ({ task }) => {
  if (task.result?.state !== 'fail') return;
  const errors = task.result.errors?.map(({ message, diff }) => `${message}\n${diff ?? ''}`) ?? [];
  process.stderr.write(`${[await machine.lastWords(), ...errors].join('\n')}\n`);
});
afterAll(() => machine.cutPower());

const declare = (name: string, pod: object): Promise<void> =>
  machine.write(`${manifests}/${name}.json`, JSON.stringify(pod));
const untilReady = (...pods: string[]): Promise<void> =>
  machine.until(`kubelet-ts wait ${pods.join(' ')} --timeout 60s`, 900);
/** The processes of containers and sandboxes. */
const tasks = (): Promise<string> =>
  machine.run('ctr -a /var/lib/kubelet-ts/containerd/containerd.sock -n k8s.io tasks ls | sort');

test('a newcomer: pods run on the managed containerd, and the log says why', async () => {
  expect(await machine.run('iptables -S FORWARD | head -n 1')).toBe('-P FORWARD DROP');
  const log = await machine.run('journalctl --no-pager -o cat -u kubelet-ts');
  expect(log).toContain('unix:///run/containerd/containerd.sock is not ready for pods (');
  expect(log).not.toContain('Referenced but unset environment variable');
  expect(log).not.toMatch(/^\[/m);
  expect(await machine.run("journalctl -o cat -p warning -u kubelet-ts | grep -c 'Container runtime' || true")).toBe(
    '0',
  );

  const web = shell('app', 'mkdir /www; echo hello > /www/index.html; exec httpd -f -p 8080 -h /www', {
    ports: [{ containerPort: 8080, hostPort: 8080 }],
  });
  await declare('web', makePod('web', { hostNetwork: false, containers: [web] }));
  await declare('host', makePod('host', { hostNetwork: true, containers: [shell('app', serve)] }));
  await untilReady('web', 'host');
  const job = makePod('job', {
    hostNetwork: false,
    restartPolicy: 'Never',
    containers: [shell('app', 'nslookup registry.example; exit 3')],
  });
  await machine.write('/root/job.json', JSON.stringify(job));
  const { code, stdout } = await machine.try('kubelet-ts run-once --isolated /root/job.json');
  expect({ code, stdout }).toEqual({ code: 3, stdout: expect.stringContaining('192.0.2.80') as string });
});

/** Asks the host port from another machine. */
async function askHostPort(): Promise<string> {
  const get = 'exec 3<>/dev/tcp/192.0.2.1/8080; printf "GET /index.html HTTP/1.0\\r\\n\\r\\n" >&3; cat <&3';
  return machine.run(`${outside} timeout 60 bash -c '${get}'`);
}

const hello = /^HTTP\/1\.[01] 200 OK.*hello$/s;

test('a newcomer: the host port answers another machine, although Docker drops what is forwarded', async () => {
  expect(await askHostPort()).toMatch(hello);
});

test('a newcomer: a pod resolves a name through the server behind systemd-resolved', async () => {
  expect(await machine.run('cat /etc/resolv.conf | grep -c "^nameserver 127.0.0.53"')).toBe('1');
  expect(await machine.run('kubelet-ts exec web -- nslookup -type=a registry.example')).toContain('192.0.2.80');
  expect(await machine.run('kubelet-ts exec host -- cat /etc/resolv.conf')).toContain('nameserver 127.0.0.53');
});

test.each(['ufw --force enable', 'ufw reload', 'systemctl restart docker'])(
  'a newcomer: host port and names work after %s',
  async (change) => {
    // Otherwise ufw ends the connection of this test.
    await machine.run('ufw allow 22/tcp');
    await machine.run(change);
    expect(await machine.run('iptables -S FORWARD | head -n 1')).toBe('-P FORWARD DROP');
    expect(await askHostPort()).toMatch(hello);
    expect(await machine.run('kubelet-ts exec web -- nslookup -type=a registry.example')).toContain('192.0.2.80');
  },
);

test('a newcomer: a kill of the unit changes no process of a pod', async () => {
  const before = await tasks();
  expect(before.split('\n').length).toBeGreaterThan(4);
  const pid = await machine.run('cat /var/lib/kubelet-ts/containerd/containerd.pid');
  await machine.run('systemctl kill -s KILL kubelet-ts');
  await machine.until('[ "$(systemctl show -p NRestarts --value kubelet-ts)" = 1 ]');
  await machine.until('systemctl is-active kubelet-ts');
  await untilReady('web', 'host');
  expect(await tasks()).toBe(before);
  expect(await machine.run('cat /var/lib/kubelet-ts/containerd/containerd.pid')).toBe(pid);
});

test('a newcomer: doctor finds no problem', async () => {
  const { stdout } = await machine.try('LC_ALL=C.UTF-8 kubelet-ts doctor');
  expect(stdout.split('\n').filter((line) => line.startsWith('✗'))).toEqual([]);
  expect(stdout).toContain('the policy of FORWARD is DROP, and a rule of kubelet-ts allows connections');
  expect(stdout).toContain('pods use 192.0.2.2');
});
