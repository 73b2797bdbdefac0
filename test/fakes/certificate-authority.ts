import { generate } from 'selfsigned';

/** All fields are in PEM. */
export interface Certificate {
  cert: string;
  key: string;
}

interface Wanted {
  /** Addresses that it is valid for. Defaults to a server on 127.0.0.1. */
  ips?: string[];
  notBefore?: Date;
  notAfter?: Date;
  organizations?: string[];
  /** Defaults to both. */
  usage?: 'server' | 'client';
}

const ofAuthority = [
  { name: 'basicConstraints' as const, cA: true, critical: true },
  { name: 'keyUsage' as const, keyCertSign: true, digitalSignature: true, critical: true },
];

const ec = { keyType: 'ec', algorithm: 'sha256' } as const;

/** A certificate authority that exists only during a test. */
export class CertificateAuthority {
  readonly own: Certificate;

  private constructor(own: Certificate) {
    this.own = own;
  }

  static async make(name: string): Promise<CertificateAuthority> {
    const { cert, private: key } = await generate([{ name: 'commonName', value: name }], {
      ...ec,
      extensions: ofAuthority,
    });
    return new CertificateAuthority({ cert, key });
  }

  /** Creates an authority whose certificate is signed by this one. */
  async authority(name: string, { notBefore, notAfter }: Required<Pick<Wanted, 'notBefore' | 'notAfter'>>) {
    const { cert, private: key } = await generate([{ name: 'commonName', value: name }], {
      ...ec,
      ca: this.own,
      notBeforeDate: notBefore,
      notAfterDate: notAfter,
      extensions: ofAuthority,
    });
    return new CertificateAuthority({ cert, key });
  }

  /** Issues a certificate for a server or a client. */
  async issue(name: string, wanted: Wanted = {}): Promise<Certificate> {
    const { ips = ['127.0.0.1'], organizations = [], notBefore, notAfter, usage } = wanted;
    const groups = organizations.map((value) => ({ name: 'organizationName', value }));
    const { cert, private: key } = await generate([{ name: 'commonName', value: name }, ...groups], {
      ...ec,
      ca: this.own,
      ...(notBefore && { notBeforeDate: notBefore }),
      ...(notAfter && { notAfterDate: notAfter }),
      extensions: [
        { name: 'basicConstraints', cA: false },
        { name: 'extKeyUsage', serverAuth: usage !== 'client', clientAuth: usage !== 'server' },
        { name: 'subjectAltName', altNames: ips.map((ip) => ({ type: 7 as const, ip })) },
      ],
    });
    return { cert, key };
  }
}
