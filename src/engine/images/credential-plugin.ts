import type { CredentialProvider } from '../../api/kubelet-configuration/credential-provider-config.ts';
import type { Clock } from '../../clock.ts';
import { errorMessage } from '../../errors.ts';
import type { Logger } from '../../logger.ts';
import { type CredentialProviderResponse, parseCredentialProviderResponse } from './credential-provider-response.ts';
import type { Meter } from '../view/meter.ts';
import type { DockerConfig } from './docker-config.ts';
import { matchesRepository } from './docker-keyring.ts';

interface Deps {
  provider: CredentialProvider;
  /** Runs the program with `input` on its standard input. Resolves with its standard output. */
  exec: (provider: CredentialProvider, input: string) => Promise<string>;
  meter?: Pick<Meter, 'count' | 'observe'> | undefined;
  clock: Clock;
  logger: Logger;
}

interface CachedCredentials {
  credentials: DockerConfig;
  expiresAtMonotonic: number;
}

const globalKey = 'global';

/** One credential provider with a cache of its answers. kubelet: credentialprovider/plugin/plugin.go pluginProvider */
export class CredentialPlugin {
  /** By repository, by registry or under the one global key. */
  private readonly cache = new Map<string, CachedCredentials>();
  /** By repository. */
  private readonly underWay = new Map<string, Promise<DockerConfig>>();

  constructor(private readonly deps: Deps) {}

  /**
   * Returns the provider's credentials for a repository. If the provider fails, logs that and returns none. Concurrent
   * calls for one repository run the provider once.
   */
  async credentialsFor(repository: string): Promise<DockerConfig> {
    const { provider } = this.deps;
    if (!provider.matchImages.some((pattern) => matchesRepository(pattern, repository))) return new Map();
    const cached = this.cached(repository);
    if (cached !== undefined) return cached;
    const asked =
      this.underWay.get(repository) ??
      this.ask(repository).finally(() => {
        this.underWay.delete(repository);
      });
    this.underWay.set(repository, asked);
    return asked;
  }

  private cached(repository: string): DockerConfig | undefined {
    const nowMonotonic = this.deps.clock.monotonic();
    for (const [key, { expiresAtMonotonic }] of this.cache)
      if (expiresAtMonotonic <= nowMonotonic) this.cache.delete(key);
    const keys = [repository, registryOf(repository), globalKey];
    return keys.map((key) => this.cache.get(key)).find((found) => found !== undefined)?.credentials;
  }

  private async ask(repository: string): Promise<DockerConfig> {
    const { provider, exec, clock, logger, meter } = this.deps;
    const { name, apiVersion, defaultCacheDuration } = provider;
    const startedAtMonotonic = clock.monotonic();
    try {
      const request = { kind: 'CredentialProviderRequest', apiVersion, image: repository };
      const response = parseCredentialProviderResponse(await exec(provider, JSON.stringify(request)), apiVersion);
      const { credentials, cacheDurationMs = defaultCacheDuration } = response;
      const expiresAtMonotonic = clock.monotonic() + cacheDurationMs;
      if (cacheDurationMs > 0) this.cache.set(cacheKey(response, repository), { credentials, expiresAtMonotonic });
      return credentials;
    } catch (error) {
      meter?.count('kubelet_credential_provider_plugin_errors_total', { plugin_name: name });
      logger.error({ provider: name, image: repository, err: errorMessage(error) }, 'A credential provider failed');
      return new Map();
    } finally {
      const seconds = (clock.monotonic() - startedAtMonotonic) / 1000;
      meter?.observe('kubelet_credential_provider_plugin_duration_seconds', seconds, { plugin_name: name });
    }
  }
}

function cacheKey({ cacheKeyType }: CredentialProviderResponse, repository: string): string {
  switch (cacheKeyType) {
    case 'Image':
      return repository;
    case 'Registry':
      return registryOf(repository);
    case 'Global':
      return globalKey;
  }
}

const registryOf = (repository: string): string => repository.split('/', 1).join('');
