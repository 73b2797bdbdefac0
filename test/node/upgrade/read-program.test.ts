import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseMinisignPublicKey } from '../../../src/origins/http/minisign.ts';
import { fetchProgram, readProgramFile } from '../../../src/node/upgrade/read-program.ts';
import { MinisignSigner } from '../../fakes/minisign-signer.ts';
import { WebServer } from '../../fakes/web-server.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const content = Buffer.from('a program');
const sha256 = createHash('sha256').update(content).digest('hex');
const other = '0'.repeat(64);
const signer = new MinisignSigner();
const publicKeys = [parseMinisignPublicKey(signer.publicKey)].flatMap((key) => key ?? []);
const untrusted = { sha256: undefined, publicKeys: [], cosignKeyFiles: [] };
const { signal } = new AbortController();

async function cosign(folder: string): Promise<{ keyFile: string; bundle: string }> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const keyFile = join(folder, 'cosign.pub');
  await writeFile(keyFile, publicKey.export({ type: 'spki', format: 'pem' }));
  const signature = sign('sha256', content, privateKey).toString('base64');
  // As cosign 3 sign-blob --bundle writes it.
  const digest = { algorithm: 'SHA2_256', digest: createHash('sha256').update(content).digest('base64') };
  const mediaType = 'application/vnd.dev.sigstore.bundle.v0.3+json';
  return { keyFile, bundle: JSON.stringify({ mediaType, messageSignature: { messageDigest: digest, signature } }) };
}

test('a file needs no checksum, and must have the one next to it', async () => {
  const file = join(await temporaryFolder(), 'kubelet-ts');
  await expect(readProgramFile(file, untrusted)).rejects.toMatchObject({ message: `${file}: no such file` });
  await writeFile(file, content);
  expect(await readProgramFile(file, untrusted)).toEqual(content);
  await writeFile(`${file}.sha256`, `${sha256}  kubelet-ts\n`);
  expect(await readProgramFile(file, untrusted)).toEqual(content);
  const damaged = { name: 'UserError', message: `${file} is damaged: its SHA-256 is ${sha256}, not ${other}` };
  await expect(readProgramFile(file, { ...untrusted, sha256: other })).rejects.toMatchObject(damaged);
  await writeFile(`${file}.sha256`, `${other}  kubelet-ts\n`);
  await expect(readProgramFile(file, untrusted)).rejects.toMatchObject(damaged);
  expect(await readProgramFile(file, { ...untrusted, sha256 })).toEqual(content);
  await writeFile(`${file}.sha256`, 'no sum\n');
  await expect(readProgramFile(file, untrusted)).rejects.toMatchObject({
    message: `${file}.sha256 holds no SHA-256 checksum`,
  });
});

test('a file must be signed with a given key of minisign', async () => {
  const file = join(await temporaryFolder(), 'kubelet-ts');
  const trust = { ...untrusted, publicKeys };
  await writeFile(file, content);
  const refusal = (because: string) => ({ name: 'UserError', message: `${file} is not trusted: ${because}` });
  await expect(readProgramFile(file, trust)).rejects.toMatchObject(refusal('there is no kubelet-ts.minisig'));
  await writeFile(`${file}.minisig`, signer.sign(content));
  expect(await readProgramFile(file, trust)).toEqual(content);
  await writeFile(file, 'another program');
  await expect(readProgramFile(file, trust)).rejects.toMatchObject(refusal('the signature is for other content'));
});

test('a file must be signed with a given key of cosign', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'kubelet-ts');
  const { keyFile, bundle } = await cosign(folder);
  const trust = { ...untrusted, cosignKeyFiles: [keyFile] };
  await writeFile(file, content);
  const refusal = (because: string) => ({ name: 'UserError', message: `${file} is not trusted: ${because}` });
  await expect(readProgramFile(file, trust)).rejects.toMatchObject(refusal('there is no kubelet-ts.sigstore.json'));
  await writeFile(`${file}.sigstore.json`, bundle);
  expect(await readProgramFile(file, trust)).toEqual(content);
  await writeFile(file, 'another program');
  await expect(readProgramFile(file, trust)).rejects.toMatchObject(refusal('no key of --cosign-key signed it'));
  await expect(readProgramFile(file, { ...trust, cosignKeyFiles: [file] })).rejects.toMatchObject({
    message: `${file} contains no public key of ECDSA P-256`,
    hint: 'Name the file cosign.pub of cosign generate-key-pair: --cosign-key.',
  });
  await writeFile(`${file}.sigstore.json`, '{}');
  await expect(readProgramFile(file, trust)).rejects.toMatchObject(refusal('no key of --cosign-key signed it'));
});

test('a URL needs a checksum or a signature', async () => {
  const server = await WebServer.start();
  const folder = await temporaryFolder();
  const url = new URL(server.url('/kubelet-ts'));
  const from = { url, headers: [], files: {}, folder };
  server.answer = { status: 404 };
  await expect(fetchProgram(from, untrusted, signal)).rejects.toMatchObject({
    name: 'UserError',
    message: `${url.href}: the server answered 404`,
    hint: 'Check the path of the URL.',
  });
  server.answers.set('/kubelet-ts', { body: content });
  await expect(fetchProgram(from, untrusted, signal)).rejects.toMatchObject({
    message: `${url.href}.sha256: the server answered 404`,
  });
  expect(await fetchProgram(from, { ...untrusted, sha256 }, signal)).toEqual(content);
  server.answers.set('/kubelet-ts.sha256', `${sha256}  kubelet-ts\n`);
  expect(await fetchProgram(from, untrusted, signal)).toEqual(content);
  server.answers.set('/kubelet-ts.minisig', signer.sign(content));
  expect(await fetchProgram(from, { ...untrusted, publicKeys }, signal)).toEqual(content);
  server.answers.set('/kubelet-ts', 'another program');
  await expect(fetchProgram(from, { ...untrusted, publicKeys }, signal)).rejects.toMatchObject({
    message: `${url.href} is not trusted: the signature is for other content`,
  });
});

test('a checksum on a server without TLS does not count', async () => {
  const url = new URL('http://user:secret@releases.example/kubelet-ts');
  const from = { url, headers: [], files: {}, folder: await temporaryFolder() };
  await expect(fetchProgram(from, untrusted, signal)).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringMatching(
      /^http:\/\/\S*releases\.example\/kubelet-ts is not protected by TLS, so its checksum proves nothing$/,
    ) as string,
    hint: 'Use https://, or give --sha256, --public-key or --cosign-key.',
  });
  const stopped = AbortSignal.abort(new Error('stopped'));
  await expect(fetchProgram(from, { ...untrusted, sha256 }, stopped)).rejects.toThrow('stopped');
});

test('a server that refuses us is a hint at the flags of upgrade', async () => {
  const server = await WebServer.start();
  server.answer = { status: 401 };
  const from = { url: new URL(server.url('/kubelet-ts')), headers: [], files: {}, folder: await temporaryFolder() };
  await expect(fetchProgram(from, untrusted, signal)).rejects.toMatchObject({
    hint: 'Check the required credentials: --url-token-file, --url-header, --url-cert-file.',
  });
});
