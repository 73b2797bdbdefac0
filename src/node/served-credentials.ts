import type { Clock } from '../clock.ts';
import { errorMessage } from '../errors.ts';
import { untilTick } from '../flow/ticks.ts';
import type { Logger } from '../logger.ts';
import { type AccessOptions, authorizationOf } from '../server/api/api-access.ts';
import type { Access } from '../server/api/api-handler.ts';
import type { SecureServer } from '../server/api/api-server.ts';
import { readPolicyFile } from '../server/api/policy-file.ts';
import { type ServingFiles, type ServingPair, servingPair } from '../server/api/serving-certificate.ts';
import { readTokenFile, TokenUsers } from '../server/api/token-file.ts';
import { readClientCA } from './client-ca.ts';

/** Milliseconds between two checks of the certificates, because a renewal by another program replaces several files. */
const certificatePeriodMs = 60_000;

interface Deps {
  files: ServingFiles;
  access: AccessOptions;
  clock: Clock;
  logger: Logger;
}

interface Certificates {
  pair: ServingPair;
  clientCA: string | undefined;
}

type CertificateTarget = Pick<SecureServer, 'replace'>;

/** The certificates, tokens and rules of the HTTPS API, as last read from its files. */
export class ServedCredentials {
  private constructor(
    private readonly deps: Deps,
    private current: Certificates,
    private currentAccess: Access,
  ) {}

  /** Reads all files. Rejects with a `UserError` if one is unusable. */
  static async read(deps: Deps): Promise<ServedCredentials> {
    const certificates = await readCertificates(deps);
    return new ServedCredentials(deps, certificates, await readAccess(deps, certificates));
  }

  /** The certificates to start a server with. */
  get certificates(): Certificates {
    return this.current;
  }

  /** The tokens and rules for a request. */
  get access(): Access {
    return this.currentAccess;
  }

  /** Passes each new certificate to the server. Rejects when `signal` is aborted. */
  async watchCertificates(server: CertificateTarget, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.deps;
    while (!signal.aborted) {
      await clock.sleep(untilTick(clock, certificatePeriodMs), { signal });
      await this.reloadCertificates(server).catch((error: unknown) => {
        logger.warn({ err: errorMessage(error) }, 'The HTTPS API keeps its certificate');
      });
    }
  }

  /** Rereads all files. Rejects with a `UserError` if one is unusable. The returned function applies them. */
  async prepareReload(server: CertificateTarget): Promise<() => void> {
    const [next, nextAccess] = await Promise.all([readCertificates(this.deps), readAccess(this.deps, this.current)]);
    return () => {
      this.apply(next, server);
      this.currentAccess = nextAccess;
    };
  }

  private async reloadCertificates(server: CertificateTarget): Promise<void> {
    this.apply(await readCertificates(this.deps), server);
  }

  private apply(next: Certificates, server: CertificateTarget): void {
    if (JSON.stringify(next) === JSON.stringify(this.current)) return;
    server.replace(next.pair, next.clientCA);
    this.current = next;
    this.deps.logger.info({}, 'The HTTPS API uses a new certificate');
  }
}

async function readCertificates({ files, access, ...deps }: Deps): Promise<Certificates> {
  const pair = await servingPair(files, deps);
  return { pair, clientCA: access.clientCAFile === '' ? undefined : await readClientCA(access.clientCAFile) };
}

async function readAccess({ access }: Deps, { clientCA }: Certificates): Promise<Access> {
  const { authorizationPolicyFile, tokenAuthFile } = access;
  const rules = authorizationPolicyFile === '' ? undefined : await readPolicyFile(authorizationPolicyFile);
  const tokens = tokenAuthFile === '' ? new TokenUsers(new Map()) : await readTokenFile(tokenAuthFile);
  // Without a policy, anonymous clients could run commands.
  const anonymous = access.anonymousAuth && rules !== undefined;
  const authentication = { hasClientCA: clientCA !== undefined, tokens, anonymous };
  return { authentication, authorization: authorizationOf(access, rules) };
}
