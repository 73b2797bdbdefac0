import { X509Certificate } from 'node:crypto';
import { readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { generate } from 'selfsigned';
import { servingPair } from '../../../src/server/api/serving-certificate.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const dayMs = 86_400_000;
const start = Date.parse('2024-05-06T07:08:09Z');

const at = (now: number): Parameters<typeof servingPair>[1] => ({ clock: { now: () => now }, logger: silentLogger });

async function filesIn(): Promise<Parameters<typeof servingPair>[0]> {
  const certDir = join(await temporaryFolder(), 'pki');
  return { tlsCertFile: '', tlsPrivateKeyFile: '', certDir, nodeName: 'edge1' };
}

test('a pair is made with the names, modes and life of the kubelet', async () => {
  const files = await filesIn();
  const { cert, key } = await servingPair(files, at(start));
  const mode = async (name: string): Promise<string> =>
    ((await stat(join(files.certDir, name))).mode & 0o777).toString(8);
  const [leaf, authority] = cert
    .split(/(?<=-----END CERTIFICATE-----)\n/)
    .map((pem) => pem.trim() && new X509Certificate(pem));
  if (!(leaf instanceof X509Certificate) || !(authority instanceof X509Certificate))
    throw new Error('two certificates');
  expect({
    modes: [await mode('kubelet.crt'), await mode('kubelet.key'), await mode('.')],
    subject: leaf.subject,
    issuer: leaf.issuer,
    names: leaf.subjectAltName,
    from: new Date(leaf.validFrom).getTime() - start,
    life: Date.parse(leaf.validTo) - Date.parse(leaf.validFrom),
    signed: leaf.verify(authority.publicKey),
    isCA: [leaf.ca, authority.ca],
    key: key.split('\n')[0],
  }).toEqual({
    modes: ['644', '600', '755'],
    subject: `CN=edge1@${start / 1000}`,
    issuer: `CN=edge1-ca@${start / 1000}`,
    names: 'DNS:edge1',
    from: -3600_000,
    life: 365 * dayMs,
    signed: true,
    isCA: [false, true],
    key: '-----BEGIN RSA PRIVATE KEY-----',
  });
});

test('a pair that cannot be read is no reason for another one', async () => {
  const files = await filesIn();
  await servingPair(files, at(start));
  const path = join(files.certDir, 'kubelet.key');
  await rm(path);
  await symlink(path, path);
  await expect(servingPair(files, at(start))).rejects.toThrow('the serving certificate cannot be read: ELOOP');
});

test('a pair is kept until thirty days before its end, and a damaged one is replaced', async () => {
  const files = await filesIn();
  const first = await servingPair(files, at(start));
  expect(await servingPair(files, at(start + 334 * dayMs))).toEqual(first);
  const second = await servingPair(files, at(start + 336 * dayMs));
  expect(second.cert).not.toBe(first.cert);
  await writeFile(join(files.certDir, 'kubelet.key'), first.key);
  const third = await servingPair(files, at(start + 336 * dayMs));
  expect(third.key).not.toBe(first.key);
  expect(await readFile(join(files.certDir, 'kubelet.crt'), 'utf8')).toBe(third.cert);
});

test('a pair that was made while the clock was ahead is made again', async () => {
  const files = await filesIn();
  const ahead = await servingPair(files, at(start + 14 * 365 * dayMs));
  const { cert } = await servingPair(files, at(start));
  expect(cert).not.toBe(ahead.cert);
  expect(Date.parse(new X509Certificate(cert).validFrom)).toBeLessThanOrEqual(start);
});

test('a pair of the user that does not fit is refused with the files', async () => {
  const files = await filesIn();
  await servingPair(files, at(start));
  const tlsCertFile = join(files.certDir, 'kubelet.crt');
  await expect(
    servingPair({ ...files, tlsCertFile, tlsPrivateKeyFile: '/nosuch.key' }, at(start)),
  ).rejects.toMatchObject({
    message: "the serving certificate cannot be used: ENOENT: no such file or directory, open '/nosuch.key'",
  });
});

test('a pair of the user whose key is too weak for TLS is refused', async () => {
  const folder = await temporaryFolder();
  const files = { ...(await filesIn()), tlsCertFile: join(folder, 'w.crt'), tlsPrivateKeyFile: join(folder, 'w.key') };
  const weak = await generate([{ name: 'commonName', value: 'weak' }], { keySize: 512, algorithm: 'sha256' });
  await writeFile(files.tlsCertFile, weak.cert);
  await writeFile(files.tlsPrivateKeyFile, weak.private);
  await expect(servingPair(files, at(start))).rejects.toThrow(
    'the serving certificate cannot be used: error:0A00018F:SSL routines::ee key too small',
  );
});
