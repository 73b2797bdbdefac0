import { gunzipSync } from 'node:zlib';
import { maxManifestBytes } from '../../api/decoding/manifest-document.ts';
import { composeYaml, scalarAsText } from '../../api/text/compose-yaml.ts';
import { LineIndex } from '../../api/text/line-index.ts';
import { ManifestSyntaxError, plainValue } from '../../api/text/manifest-node.ts';
import { ReadingBudget } from '../../api/text/reading-budget.ts';
import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';
import { errorMessage } from '../../errors.ts';

/**
 * Returns the manifests in a machine's user data: the whole text, or `kubelet-ts.manifests` of a cloud-config. The data
 * may be gzipped, as for cloud-init. Throws an OriginFailure for any other form.
 */
export function manifestsOf(userData: Buffer): Buffer {
  const bytes = unpacked(userData);
  const start = bytes.toString('latin1', 0, 512);
  if (bytes.length === 0) throw noManifest('the user data is empty', 'To remove all pods, declare an empty List.');
  if (/^#cloud-config\s/.test(start)) return fromCloudConfig(bytes.toString('utf8'));
  const other = otherForms.find(([form]) => form.test(start))?.[1];
  if (other === undefined) return bytes;
  throw noManifest(`the user data is ${other}`, 'Use manifests alone, or a cloud-config with kubelet-ts.manifests.');
}

const otherForms: readonly (readonly [RegExp, string])[] = [
  [/^#!/, 'a script'],
  [/^(content-type: multipart|mime-version:)/i, 'a MIME message of several parts'],
];

function unpacked(bytes: Buffer): Buffer {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  try {
    return gunzipSync(bytes, { maxOutputLength: maxManifestBytes });
  } catch (error) {
    throw noManifest(
      `the user data cannot be unpacked: ${errorMessage(error)}`,
      'Pack it again with gzip, up to 10 MiB.',
    );
  }
}

function fromCloudConfig(text: string): Buffer {
  const config = loadYAML(text, 'the cloud-config');
  const ours = fieldsOf(config)['kubelet-ts'];
  const manifests = fieldsOf(ours)['manifests'];
  if (typeof manifests === 'string') return Buffer.from(manifests);
  const problem = manifests === undefined ? 'has no kubelet-ts.manifests' : 'has kubelet-ts.manifests that is no text';
  throw noManifest(`the cloud-config ${problem}`, 'Write the manifests as a block: kubelet-ts: {manifests: |…}');
}

/** Parses YAML and keeps every scalar as a string. Throws an OriginFailure that does not quote the text. */
export function loadYAML(text: string, what: string): unknown {
  try {
    // Other entries of a cloud-config may have any tag.
    return plainValue(composeYaml(text, new ReadingBudget(), scalarAsText).root);
  } catch (error) {
    if (!(error instanceof ManifestSyntaxError)) throw error;
    const { line, column } = new LineIndex(text).positionAt(error.start);
    const hint = 'Check the indentation, the quotes, the tags and the aliases there.';
    throw noManifest(`${what} is no YAML at line ${line}, column ${column}`, hint);
  }
}

export function noManifest(message: string, hint: string): OriginFailure {
  return new OriginFailure('is no manifest', message, hint);
}

/** Returns the fields of a value that should be an object. */
export const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> => Object(value) as Record<string, unknown>;
