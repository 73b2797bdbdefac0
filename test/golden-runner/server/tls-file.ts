import { X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { once } from 'node:events';
import { join } from 'node:path';
import { connect, type ConnectionOptions, type SecureVersion, type TLSSocket } from 'node:tls';
import { text } from 'node:stream/consumers';
import { execa } from 'execa';
import { systemClock } from '../../../src/clock.ts';
import { errorMessage } from '../../../src/errors.ts';
import { servingPair } from '../../../src/server/api/serving-certificate.ts';
import { CertificateAuthority } from '../../fakes/certificate-authority.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { comparingCase, type ReplayedCase } from '../replay-case.ts';
import { inNoTable } from '../replay.ts';
import { RecordedAgent } from './recorded-agent.ts';
import { type ServerFile, serverFile } from './server-file.ts';

interface TLSFile {
  certDir: { mode: string; files: Record<string, string> };
  'kubelet.crt': { pemBlocks: string[]; leaf: RecordedCertificate; ca: RecordedCertificate };
  'kubelet.key': { pem: string };
  handshake: Record<string, string>;
  alpn: { offered: string[]; chosen: string };
}

/** Texts on what was found in a certificate, such as `critical: CA:FALSE`. */
type RecordedCertificate = Readonly<Record<string, unknown>>;

const setup = {
  flags: [
    ...['--hostname-override=edge1', '--node-ip=192.0.2.1', '--cert-dir={base}/pki', '--root-dir={root}'],
    ...['--client-ca-file={base}/ca.crt', '--authorization-mode=AlwaysAllow', '--anonymous-auth=false'],
    ...['--address=127.0.0.1', '--read-only-port=0'],
  ],
  manifests: {},
};

/** The serving certificate that is made, and handshakes with it. */
export const tlsFile: ServerFile = serverFile<TLSFile>(['handshake', 'alpn'], replay);

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
  return {
    cases: [
      one('modes of files', certDir, modes),
      one('certificate', recorded['kubelet.crt'], (agent) => certificates(agent, recorded['kubelet.crt'])),
      one('key', recorded['kubelet.key'].pem, keyFormat),
      ...Object.entries(handshake).map(([version, outcome]) =>
        one(version, outcome, (agent) => outcomeOf(agent, version)),
      ),
      one('protocol', alpn.chosen, async (agent) => (await shake(agent, { ALPNProtocols: alpn.offered })).alpnProtocol),
      // The recording tells it in prose.
      one('clients', { asked: ['CN = ca'], stranger: 'HTTP/1.1 401 Unauthorized' }, clients),
      one('second start', true, async ({ folder, options }) => {
        const kept = await readFile(join(folder, 'pki/kubelet.crt'), 'utf8');
        return (await servingPair(options, { clock: systemClock, logger: silentLogger })).cert === kept;
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

/** Both certificates in the members that were recorded of them. */
async function certificates({ folder }: RecordedAgent, recorded: TLSFile['kubelet.crt']): Promise<unknown> {
  const text = await readFile(join(folder, 'pki/kubelet.crt'), 'utf8');
  const [first = '', second = '', ...more] = text.split(/(?<=-----END CERTIFICATE-----\n)/);
  const [leaf, ca] = [new X509Certificate(first), new X509Certificate(second)];
  const selfSigned = ca.verify(ca.publicKey) && leaf.verify(ca.publicKey);
  return {
    pemBlocks: [kindOf(leaf), kindOf(ca), ...more],
    leaf: asRecorded(await membersOf(leaf), recorded.leaf),
    ca: asRecorded({ ...(await membersOf(ca)), selfSigned }, recorded.ca),
  };
}

const kindOf = ({ ca }: X509Certificate): string => (ca ? 'CERTIFICATE (its CA)' : 'CERTIFICATE (leaf)');

async function membersOf(certificate: X509Certificate): Promise<RecordedCertificate> {
  const { subject, issuer, subjectAltName = '', validFrom, validTo, publicKey } = certificate;
  const { stdout: printed } = await execa('openssl', ['x509', '-noout', '-text'], { input: certificate.toString() });
  const shown = (name: string): string => name.replace(/@\d+$/, '@{unix time of start}');
  const names = (kind: string): string[] =>
    subjectAltName.split(', ').flatMap((name) => (name.startsWith(kind) ? [name.slice(kind.length)] : []));
  const extension = (title: string): string => {
    const [, critical = '', value = ''] = new RegExp(`X509v3 ${title}: (critical)?\\s+(.*)`).exec(printed) ?? [];
    return `${critical === '' ? '' : 'critical: '}${value.split(', ').map(goName).join(', ')}`;
  };
  const hours = Number(/@(\d+)$/.exec(subject)?.[1]) / 3600 - Date.parse(validFrom) / 3_600_000;
  const { asymmetricKeyType = '', asymmetricKeyDetails } = publicKey;
  return {
    subject: shown(subject),
    issuer: shown(issuer),
    sanDNS: names('DNS:'),
    sanIP: names('IP Address:'),
    notBefore: `start - ${hours} h`,
    notAfter: `notBefore + ${(Date.parse(validTo) - Date.parse(validFrom)) / 86_400_000} days`,
    key: `${asymmetricKeyType.toUpperCase()} ${asymmetricKeyDetails?.modulusLength ?? 0}`,
    signature: /Signature Algorithm: (\S+)/.exec(printed)?.[1],
    keyUsage: extension('Key Usage'),
    extendedKeyUsage: extension('Extended Key Usage').split(', '),
    basicConstraints: extension('Basic Constraints'),
  };
}

const goNames: Readonly<Record<string, string>> = {
  'Digital Signature': 'digitalSignature',
  'Key Encipherment': 'keyEncipherment',
  'Certificate Sign': 'keyCertSign',
  'TLS Web Server Authentication': 'serverAuth',
};
const goName = (name: string): string => goNames[name] ?? name;

/** The members that were recorded. Of the authority it was not recorded which extensions are critical. */
function asRecorded(members: RecordedCertificate, recorded: RecordedCertificate): RecordedCertificate {
  return Object.fromEntries(
    Object.entries(recorded).map(([key, value]) => {
      const member = members[key];
      const isBare = typeof value === 'string' && !value.startsWith('critical: ');
      return [key, isBare && typeof member === 'string' ? member.replace('critical: ', '') : member];
    }),
  );
}

/** The authorities that clients are asked for, and the answer to a client of another one. */
async function clients({ ports }: RecordedAgent): Promise<unknown> {
  const where = `127.0.0.1:${ports.secure}`;
  const { stdout } = await execa('openssl', ['s_client', '-connect', where], { input: '', reject: false });
  const [, asked = ''] = /Acceptable client certificate CA names\n((?:[A-Z]+ = .*\n)+)/.exec(stdout) ?? [];
  const stranger = await (await CertificateAuthority.make('other')).issue('stranger');
  const socket = connect({ host: '127.0.0.1', port: ports.secure, rejectUnauthorized: false, ...stranger });
  socket.write('GET /pods HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n');
  return { asked: asked.trim().split('\n'), stranger: (await text(socket)).split('\r\n')[0] };
}

async function shake({ ports }: RecordedAgent, options: ConnectionOptions): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port: ports.secure, rejectUnauthorized: false, ...options });
  await once(socket, 'secureConnect');
  socket.destroy();
  return socket;
}

/** `ok`, or the alert of the server. */
function outcomeOf(agent: RecordedAgent, version: string): Promise<string> {
  const only = version.replace('TLS ', 'TLSv').replace('v1.0', 'v1') as SecureVersion;
  // Old versions need old ciphers on the side of the client.
  const options = { minVersion: only, maxVersion: only, ciphers: 'ALL:@SECLEVEL=0' };
  return shake(agent, options).then(
    () => 'ok',
    (error: unknown) => {
      const [, name = '', number = ''] = /alert ([a-z ]+):.*SSL alert number (\d+)/s.exec(errorMessage(error)) ?? [];
      return `alert ${number} ${name}`;
    },
  );
}
