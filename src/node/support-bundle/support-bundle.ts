import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import type { SecretValues } from '../../engine/redaction/secret-values.ts';
import type { Examined } from '../doctor/diagnose.ts';
import { collectParts, type MissingPart } from './collect-parts.ts';
import { type Part, partRedaction } from './redact.ts';

/** Limits on a bundle before compression. */
const maxPartBytes = 4 * 1024 * 1024;
const maxBundleBytes = 32 * 1024 * 1024;

/** Reads everything that helps to diagnose this node, without secrets, as a tar.gz. */
export async function supportBundle(examined: Examined): Promise<Buffer> {
  const { parts, missing } = await collectParts(examined);
  return bundleOf(parts, missing, examined.options.secrets);
}

/** The archive of these parts without secrets. `contents.json` lists the missing and the truncated parts. */
export async function bundleOf(parts: readonly Part[], missing: MissingPart[], secrets: SecretValues): Promise<Buffer> {
  const files: { name: string; bytes: Buffer }[] = [];
  const cut: { name: string; bytes: number; keptBytes: number }[] = [];
  let left = maxBundleBytes;
  const redacted = partRedaction(parts, secrets);
  for (const part of parts) {
    const name = secrets.hide(part.name);
    const bytes = Buffer.from(redacted(part));
    const kept = bytes.subarray(0, Math.min(maxPartBytes, left));
    if (kept.length < bytes.length) cut.push({ name, bytes: bytes.length, keptBytes: kept.length });
    if (kept.length > 0) files.push({ name, bytes: kept });
    left -= kept.length;
  }
  const contents: Part = {
    name: 'contents.json',
    content: { json: { files: files.map(({ name, bytes }) => ({ name, bytes: bytes.length })), missing, cut } },
  };
  return gzipSync(await tarOf([{ name: contents.name, bytes: Buffer.from(redacted(contents)) }, ...files]));
}

async function tarOf(files: readonly { name: string; bytes: Buffer }[]): Promise<Buffer> {
  const archive = pack();
  for (const { name, bytes } of files) {
    archive.entry({ name: `kubelet-ts-support/${name}`, mode: 0o600, mtime: new Date() }, bytes);
  }
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
