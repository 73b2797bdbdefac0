import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, onTestFinished, test } from 'vitest';
import { allowForwarding, disallowForwarding } from '../../src/containerd/forward-rules.ts';
import { SubnetClaims } from '../../src/containerd/subnet-claims.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const jump = '-A FORWARD -j KUBELET-TS-FORWARD';
const rule =
  '-A KUBELET-TS-FORWARD -o kts+ -m conntrack --ctstate DNAT -m comment --comment "host ports of kubelet-ts" -j ACCEPT';

/** A machine with a network namespace, whose FORWARD drops what no rule accepts, and a root-dir with our bridge. */
async function setUp() {
  const folder = await temporaryFolder();
  const namespace = `kts-fw-${process.pid}-${Math.floor(Math.random() * 1e6)}`;
  await execa('ip', ['netns', 'add', namespace]);
  onTestFinished(() => execa('ip', ['netns', 'delete', namespace]).then(() => undefined));
  const programs = join(folder, 'bin');
  await mkdir(programs);
  for (const program of ['iptables', 'iptables-restore']) {
    const script = `#!/bin/sh\nexec ip netns exec ${namespace} ${program} "$@"\n`;
    await writeFile(join(programs, program), script, { mode: 0o755 });
  }
  const iptables = async (...words: string[]): Promise<string[]> =>
    (await execa(join(programs, 'iptables'), words)).stdout.split('\n');
  await iptables('-P', 'FORWARD', 'DROP');
  const claimsDir = join(folder, 'claims');
  const bridgeOf = async (name: string): Promise<{ file: string; claimsDir: string; programFolders: string[] }> => {
    const file = join(folder, name);
    await writeFile(file, '{"subnet": "10.222.0.0/24"}');
    await new SubnetClaims(claimsDir).add(file);
    return { file, claimsDir, programFolders: [programs] };
  };
  return { iptables, bridgeOf, folder };
}

test('connections to host ports pass after the rules of the administrator, however often it starts', async () => {
  const { iptables, bridgeOf } = await setUp();
  await iptables('-A', 'FORWARD', '-s', '192.0.2.0/24', '-j', 'DROP');
  const ours = await bridgeOf('a');
  expect([await allowForwarding(ours), await allowForwarding(ours)]).toEqual([undefined, undefined]);
  const admin = '-A FORWARD -s 192.0.2.0/24 -j DROP';
  expect(await iptables('-S')).toEqual(
    expect.arrayContaining(['-P FORWARD DROP', '-N KUBELET-TS-FORWARD', admin, jump, rule]),
  );
  expect((await iptables('-S', 'FORWARD')).slice(1)).toEqual([admin, jump]);
});

test('they are there again at the next start after a flush', async () => {
  const { iptables, bridgeOf } = await setUp();
  const ours = await bridgeOf('a');
  await allowForwarding(ours);
  await iptables('-F');
  await iptables('-X');
  await allowForwarding(ours);
  expect((await iptables('-S')).slice(-2)).toEqual([jump, rule]);
});

test('the last root-dir takes them along', async () => {
  const { iptables, bridgeOf } = await setUp();
  const [first, second] = [await bridgeOf('a'), await bridgeOf('b')];
  await allowForwarding(first);
  await allowForwarding(second);
  await disallowForwarding(first);
  expect((await iptables('-S')).slice(-2)).toEqual([jump, rule]);
  await writeFile(first.file, '{}');
  await disallowForwarding(second);
  expect((await iptables('-S')).filter((line) => line.includes('KUBELET'))).toEqual([]);
});

test('without a bridge of ours nothing changes', async () => {
  const { iptables, bridgeOf, folder } = await setUp();
  const none = { ...(await bridgeOf('a')), file: join(folder, 'missing') };
  expect(await allowForwarding(none)).toBeUndefined();
  expect((await iptables('-S')).filter((line) => line.includes('KUBELET'))).toEqual([]);
});

test('an iptables that fails is a warning', async () => {
  const { bridgeOf, folder } = await setUp();
  await writeFile(join(folder, 'iptables'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  const broken = { ...(await bridgeOf('a')), programFolders: [folder] };
  expect(await allowForwarding(broken)).toMatch(/^iptables does not let connections to host ports through: /);
});
