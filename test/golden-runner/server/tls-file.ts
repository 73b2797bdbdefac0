import { X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { once } from 'node:events';
import { join } from 'node:path';
import { connect, type ConnectionOptions, type SecureVersion, type TLSSocket } from 'node:tls';
import { systemClock } from '../../../src/clock.ts';
import { servingPair } from '../../../src/server/api/serving-certificate.ts';
import { comparingCase, type ReplayedCase } from '../replay-case.ts';
import { inNoTable } from '../replay.ts';
import { RecordedAgent } from './recorded-agent.ts';
import { type ServerFile, serverFile } from './server-file.ts';

interface TLSFile {
  certDir: { mode: string; files: Record<string, string> };
  'kubelet.crt': { leaf: RecordedLeaf; ca: { subject: string } };
  'kubelet.key': { pem: string };
  handshake: Record<string, string>;
  alpn: { offered: string[]; chosen: string };
}

interface RecordedLeaf {
  subject: string;
  issuer: string;
  sanDNS: string[];
}

const setup = {
  flags: [
    ...['--hostname-override=edge1', '--node-ip=192.0.2.1', '--cert-dir={base}/pki', '--root-dir={root}'],
    ...['--client-ca-file={base}/ca.crt', '--authorization-mode=AlwaysAllow', '--anonymous-auth=false'],
    ...['--address=127.0.0.1', '--read-only-port=0'],
  ],
  manifests: {},
};

/** The serving certificate that is made, and handshakes with it. */
export const tlsFile: ServerFile = { ...serverFile<TLSFile>(['handshake', 'alpn'], replay), tests: 'unit' };

function replay(recorded: TLSFile): ReturnType<ServerFile['replay']> {
  let started: Promise<RecordedAgent> | undefined;
  const start = async (): Promise<RecordedAgent> => {
    const agent = await RecordedAgent.start(setup, () => undefined);
    await agent.serve();
    return agent;
  };
  const one = (name: string, expected: unknown, measure: (agent: RecordedAgent) => Promise<unknown>): ReplayedCase =>
    comparingCase(name, inNoTable(recorded), async () => ({
      expected,
      actual: await measure(await (started ??= start())),
    }));
  const { certDir, handshake, alpn } = recorded;
  const { leaf, ca } = recorded['kubelet.crt'];
  const names = { subject: leaf.subject, issuer: leaf.issuer, sanDNS: leaf.sanDNS, ca: ca.subject };
  return {
    cases: [
      one('modes of files', certDir, modes),
      one('certificate', { ...names, days: 365, key: 'rsa 2048', serverAuth: true, fits: true }, certificate),
      one('key', recorded['kubelet.key'].pem, keyFormat),
      ...Object.entries(handshake).map(([version, outcome]) =>
        one(version, outcome === 'ok', (agent) => canShake(agent, version)),
      ),
      one('protocol', alpn.chosen, async (agent) => (await shake(agent, { ALPNProtocols: alpn.offered })).alpnProtocol),
      one('second start', true, async ({ folder, options }) => {
        const kept = await readFile(join(folder, 'pki/kubelet.crt'), 'utf8');
        return (await servingPair(options, systemClock)).cert === kept;
      }),
    ],
    end: async () => {
      await (await started)?.end();
    },
  };
}

async function keyFormat({ folder }: RecordedAgent): Promise<string> {
  const text = await readFile(join(folder, 'pki/kubelet.key'), 'utf8');
  return text.startsWith('-----BEGIN RSA PRIVATE KEY-----') ? 'RSA PRIVATE KEY (PKCS#1)' : 'another format';
}

async function modes({ folder }: RecordedAgent): Promise<unknown> {
  const mode = async (path: string): Promise<string> => ((await stat(join(folder, path))).mode & 0o777).toString(8);
  const files = { 'kubelet.crt': await mode('pki/kubelet.crt'), 'kubelet.key': await mode('pki/kubelet.key') };
  return { mode: await mode('pki'), files };
}

async function certificate({ folder }: RecordedAgent): Promise<unknown> {
  const text = await readFile(join(folder, 'pki/kubelet.crt'), 'utf8');
  const [first = '', second = ''] = text.split(/(?<=-----END CERTIFICATE-----\n)/);
  const [leaf, ca] = [new X509Certificate(first), new X509Certificate(second)];
  const shown = (name: string): string => name.replace(/@\d+$/, '@{unix time of start}');
  const days = (Date.parse(leaf.validTo) - Date.parse(leaf.validFrom)) / 86_400_000;
  const { asymmetricKeyType, asymmetricKeyDetails } = leaf.publicKey;
  return {
    subject: shown(leaf.subject),
    issuer: shown(leaf.issuer),
    sanDNS: (leaf.subjectAltName ?? '').split(', ').map((name) => name.replace('DNS:', '')),
    ca: shown(ca.subject),
    days,
    key: `${asymmetricKeyType ?? ''} ${asymmetricKeyDetails?.modulusLength ?? 0}`,
    serverAuth: leaf.keyUsage.join() === '1.3.6.1.5.5.7.3.1',
    fits: ca.ca && !leaf.ca && leaf.verify(ca.publicKey) && ca.verify(ca.publicKey),
  };
}

async function shake({ ports }: RecordedAgent, options: ConnectionOptions): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port: ports.secure, rejectUnauthorized: false, ...options });
  await once(socket, 'secureConnect');
  socket.destroy();
  return socket;
}

function canShake(agent: RecordedAgent, version: string): Promise<boolean> {
  const only = version.replace('TLS ', 'TLSv').replace('v1.0', 'v1') as SecureVersion;
  // Old versions need old ciphers on the side of the client.
  const options = { minVersion: only, maxVersion: only, ciphers: 'ALL:@SECLEVEL=0' };
  return shake(agent, options).then(
    () => true,
    () => false,
  );
}
