import { createSecureContext, getCiphers, type SecureVersion } from 'node:tls';
import { goQuote } from '../../api/values/go-quote.ts';
import { UserError } from '../../errors.ts';

/** OpenSSL's names of the suites that Go knows for TLS 1.2 and older, by Go's names. */
const openSSLNames: Readonly<Record<string, string>> = {
  TLS_RSA_WITH_RC4_128_SHA: 'RC4-SHA',
  TLS_RSA_WITH_3DES_EDE_CBC_SHA: 'DES-CBC3-SHA',
  TLS_RSA_WITH_AES_128_CBC_SHA: 'AES128-SHA',
  TLS_RSA_WITH_AES_256_CBC_SHA: 'AES256-SHA',
  TLS_RSA_WITH_AES_128_CBC_SHA256: 'AES128-SHA256',
  TLS_RSA_WITH_AES_128_GCM_SHA256: 'AES128-GCM-SHA256',
  TLS_RSA_WITH_AES_256_GCM_SHA384: 'AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_RC4_128_SHA: 'ECDHE-ECDSA-RC4-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: 'ECDHE-ECDSA-AES128-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: 'ECDHE-ECDSA-AES256-SHA',
  TLS_ECDHE_RSA_WITH_RC4_128_SHA: 'ECDHE-RSA-RC4-SHA',
  TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA: 'ECDHE-RSA-DES-CBC3-SHA',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: 'ECDHE-RSA-AES128-SHA',
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: 'ECDHE-RSA-AES256-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256: 'ECDHE-ECDSA-AES128-SHA256',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256: 'ECDHE-RSA-AES128-SHA256',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
};

/** Suites of TLS 1.3. As in Go, a list leaves all of them on. */
const tls13 = ['TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256'];

/** Versions below 1.2 are read as 1.2, because Go and Node no longer serve them by default. */
const versions: Readonly<Record<string, SecureVersion>> = {
  '': 'TLSv1.2',
  VersionTLS10: 'TLSv1.2',
  VersionTLS11: 'TLSv1.2',
  VersionTLS12: 'TLSv1.2',
  VersionTLS13: 'TLSv1.3',
};

export interface TLSLimits {
  minVersion: SecureVersion;
  /** Absent for the default of Node. */
  ciphers?: string;
  /** Absent for the default of Node. */
  ecdhCurve?: string;
}

/** OpenSSL's names of the curves that Go knows, by their numbers at IANA. */
const curveNames: Readonly<Record<number, string>> = {
  23: 'P-256',
  24: 'P-384',
  25: 'P-521',
  29: 'X25519',
  4588: 'X25519MLKEM768',
};

/** Throws a `UserError` for a curve that is unknown, repeated, or not in this program's OpenSSL. */
function curvesOf(numbers: readonly number[]): Pick<TLSLimits, 'ecdhCurve'> {
  if (numbers.length === 0) return {};
  const names = numbers.map((number, index) => {
    const name = curveNames[number];
    if (name === undefined || !isServed(name)) {
      throw new UserError(`tlsCurvePreferences: curve ${number} is not supported`, {
        hint: `Use ${Object.entries(curveNames)
          .flatMap(([known, of]) => (isServed(of) ? `${known} (${of})` : []))
          .join(', ')}.`,
      });
    }
    if (numbers.indexOf(number) < index) throw new UserError(`tlsCurvePreferences: curve ${number} is repeated`);
    return name;
  });
  return { ecdhCurve: names.join(':') };
}

function isServed(ecdhCurve: string): boolean {
  try {
    createSecureContext({ ecdhCurve });
    return true;
  } catch {
    // OpenSSL does not know it.
    return false;
  }
}

/**
 * Throws a `UserError` for a name that Go does not know, and if OpenSSL serves none of the suites. kubelet:
 * component-base/cli/flag/ciphersuites_flag.go
 */
export function tlsLimits({
  tlsMinVersion,
  tlsCipherSuites,
  tlsCurvePreferences = [],
}: {
  tlsMinVersion: string;
  tlsCipherSuites: readonly string[];
  tlsCurvePreferences?: readonly number[];
}): TLSLimits {
  const curves = curvesOf(tlsCurvePreferences);
  const minVersion = versions[tlsMinVersion];
  if (minVersion === undefined) {
    throw new UserError(`unknown tls version ${goQuote(tlsMinVersion)}`, {
      hint: 'Set tlsMinVersion (--tls-min-version) to VersionTLS12 or VersionTLS13.',
    });
  }
  if (tlsCipherSuites.length === 0) return { minVersion, ...curves };
  const older = tlsCipherSuites.flatMap((name) => {
    const known = openSSLNames[name];
    if (known !== undefined) return known;
    if (tls13.includes(name)) return [];
    throw new UserError(`Cipher suite ${name} not supported or doesn't exist`, {
      hint: 'The names in tlsCipherSuites (--tls-cipher-suites) are those of Go, such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256.',
    });
  });
  const served = new Set(getCiphers());
  const usable = older.filter((name) => served.has(name.toLowerCase()));
  if (older.length > 0 && usable.length === 0 && minVersion !== 'TLSv1.3') {
    throw new UserError(`none of the cipher suites ${tlsCipherSuites.join(', ')} can be served`, {
      hint: 'RC4 and 3DES are broken. Name another suite in tlsCipherSuites (--tls-cipher-suites).',
    });
  }
  return { minVersion, ciphers: [...tls13, ...usable].join(':'), ...curves };
}
