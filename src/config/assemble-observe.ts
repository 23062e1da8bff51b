import type { Checks } from './checks.js';
import type { ObserveConfig } from './config.js';
import type { Settings } from './settings.js';

/** Logs and the status port. Quarkus may serve health on a second port; here there is one, which the more specific setting names. */
export function assembleObserve(settings: Settings, checks: Checks): ObserveConfig {
  const management = settings.isSet('quarkus.management.port') && settings.boolean('quarkus.management.enabled');
  if (management && settings.isSet('quarkus.http.port') && settings.number('quarkus.http.port') !== settings.number('quarkus.management.port')) {
    checks.note('different', 'quarkus.http.port', 'is not opened: health and metrics are on quarkus.management.port.');
  }
  return {
    httpPort: settings.number(management ? 'quarkus.management.port' : 'quarkus.http.port'),
    httpHost: settings.string(management && settings.isSet('quarkus.management.host') ? 'quarkus.management.host' : 'quarkus.http.host')!,
    logLevel: settings.choice('quarkus.log.level'),
    logJson: settings.boolean('quarkus.log.console.json'),
  };
}
