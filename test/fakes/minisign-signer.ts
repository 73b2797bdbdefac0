import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

export interface SigningOptions {
  legacy?: boolean;
  /** The trusted comment. */
  comment?: string;
}

/** Signs as `minisign -S` does, with a new key. */
export class MinisignSigner {
  /** As in the second line of `minisign.pub`. */
  readonly publicKey: string;
  readonly #keyId = randomBytes(8);
  readonly #key: KeyObject;

  constructor() {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    this.#key = privateKey;
    const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url');
    this.publicKey = Buffer.concat([Buffer.from('Ed'), this.#keyId, raw]).toString('base64');
  }

  /** Returns the content of the `.minisig`. `legacy` is what `minisign -S -l` writes, `comment` what `-t` sets. */
  sign(
    content: string | Buffer,
    { legacy = false, comment = 'timestamp:1700000000\tfile:pods.yaml' }: SigningOptions = {},
  ): string {
    const hash = createHash('blake2b512').update(content).digest();
    const signature = sign(null, legacy ? Buffer.from(content) : hash, this.#key);
    const global = sign(null, Buffer.concat([signature, Buffer.from(comment)]), this.#key);
    const line = Buffer.concat([Buffer.from(legacy ? 'Ed' : 'ED'), this.#keyId, signature]);
    return [
      'untrusted comment: signature from minisign secret key',
      line.toString('base64'),
      `trusted comment: ${comment}`,
      global.toString('base64'),
      '',
    ].join('\n');
  }
}
