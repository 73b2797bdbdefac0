import { X509Certificate } from 'node:crypto';
import { readRegularFile } from '../files/regular-file.ts';
import { UserError } from '../errors.ts';
import { readFailure } from '../files/file-failure.ts';

const maxBytes = 1024 * 1024;
const begin = '-----BEGIN CERTIFICATE-----';
const end = '-----END CERTIFICATE-----';

/**
 * Reads the PEM certificates that sign those of clients. Rejects with a `UserError` if the file has no certificate or a
 * damaged one. kubelet: apiserver dynamic_cafile_content.go loadCABundle, client-go util/cert ParseCertsPEM
 */
export async function readClientCA(path: string): Promise<string> {
  let content: Buffer;
  try {
    content = await readRegularFile(path, maxBytes, { followLinks: true });
  } catch (cause) {
    throw new UserError(`the client CA ${path} cannot be read: ${readFailure(cause)}`, {
      hint: 'Correct the path or the mode of the file that authentication.x509.clientCAFile (--client-ca-file) names.',
      cause,
    });
  }
  // Node would read an empty text as the authorities of the system, and silently accepts a text without certificates.
  const [, ...blocks] = content.toString().split(begin);
  if (blocks.length === 0) throw unusable(path, 'it has no certificate');
  return blocks
    .map((block, index) => certificateOf(block, () => unusable(path, `its certificate ${index + 1} is damaged`)))
    .join('');
}

/** The certificate of a block without its first line. A file that is still being written has an unfinished block. */
function certificateOf(block: string, damaged: () => UserError): string {
  const [body = '', ...rest] = block.split(end);
  if (rest.length === 0) throw damaged();
  try {
    return new X509Certificate(`${begin}${body}${end}\n`).toString();
  } catch {
    throw damaged();
  }
}

const unusable = (path: string, reason: string): UserError =>
  new UserError(`the client CA ${path} cannot be used: ${reason}`, {
    hint: 'Put the PEM certificates that sign those of clients into the file of authentication.x509.clientCAFile (--client-ca-file).',
  });
