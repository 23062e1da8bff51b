import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/**
 * Iceberg's reference REST catalog (the servlet of its own REST fixture) over a SQLite file, so that it survives a kill.
 * Arguments: port, then catalog properties as name=value. Prints "ready PORT" once it answers.
 */
public final class RestCatalog {
  public static void main(String[] args) throws Exception {
    Map<String, String> properties = new HashMap<>();
    properties.put("catalog-impl", "org.apache.iceberg.jdbc.JdbcCatalog");
    properties.put("jdbc.schema-version", "V1");
    // SQLite has one writer: a second connection would answer SQLITE_BUSY instead of waiting its turn.
    properties.put("clients", "1");
    for (int i = 1; i < args.length; i++) {
      int equals = args[i].indexOf('=');
      properties.put(args[i].substring(0, equals), args[i].substring(equals + 1));
    }
    RESTCatalogAdapter adapter = new RESTCatalogAdapter(CatalogUtil.buildIcebergCatalog("walberg", properties, new Configuration()));
    ServletContextHandler context = new ServletContextHandler(ServletContextHandler.NO_SESSIONS);
    context.addServlet(new ServletHolder(new RESTCatalogServlet(adapter)), "/*");
    Server server = new Server();
    ServerConnector connector = new ServerConnector(server);
    connector.setHost("127.0.0.1");
    connector.setPort(Integer.parseInt(args[0]));
    server.addConnector(connector);
    server.setHandler(context);
    server.start();
    System.out.println("ready " + connector.getLocalPort());
    server.join();
  }
}
