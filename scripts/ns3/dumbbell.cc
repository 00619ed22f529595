// One bulk transfer over a dumbbell in ns-3, as a line of CSV: the peer of `crates/world/examples/bulk.rs`.
//
//   sender --- (fast, loss) --- router --- (bottleneck: rate, RTT/2, droptail queue) --- receiver
//
// Loss is drawn before the bottleneck's queue, as in farlink's links. What ns-3 leaves at other values than Linux is set to
// Linux's: MSS 1448, initial window 10, RTO at least 200 ms, delayed acknowledgements after two segments or 40 ms.
#include <ctime>
#include <iomanip>
#include <iostream>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

static uint64_t g_received = 0;
static uint64_t g_packets = 0;
static uint64_t g_bytes = 0;
static double g_completed = -1;
static uint64_t g_timeouts = 0;

static void
Received(Ptr<const Packet> packet, const Address&)
{
    g_received += packet->GetSize();
    if (g_received >= g_bytes && g_completed < 0)
    {
        g_completed = Simulator::Now().GetSeconds();
        Simulator::Stop();
    }
}

static void
Delivered(Ptr<const Packet>)
{
    g_packets++;
}

// Counts the sender's timeouts, once its socket is there.
static void
StateChanged(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t state)
{
    g_timeouts += state == TcpSocketState::CA_LOSS;
}

static void
Watch()
{
    Config::ConnectWithoutContext("/NodeList/0/$ns3::TcpL4Protocol/SocketList/0/CongState",
                                  MakeCallback(&StateChanged));
}

int
main(int argc, char** argv)
{
    std::string congestion = "reno";
    std::string rate = "10Mbps";
    double rtt = 0.1;
    double loss = 0;
    uint32_t queue = 100;
    uint32_t seed = 1;
    CommandLine cmd;
    cmd.AddValue("congestion", "reno or cubic", congestion);
    cmd.AddValue("rate", "the bottleneck's rate", rate);
    cmd.AddValue("rtt", "round-trip time in seconds", rtt);
    cmd.AddValue("loss", "ratio of data packets lost", loss);
    cmd.AddValue("queue", "packets that may wait", queue);
    cmd.AddValue("bytes", "how much is sent", g_bytes);
    cmd.AddValue("seed", "of the losses", seed);
    cmd.Parse(argc, argv);

    RngSeedManager::SetRun(seed);
    auto type = congestion == "cubic" ? "ns3::TcpCubic" : "ns3::TcpLinuxReno";
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue(type));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(256 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(256 << 20));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(1)));

    NodeContainer nodes;
    nodes.Create(3);
    PointToPointHelper fast;
    fast.SetDeviceAttribute("DataRate", StringValue("100Gbps"));
    fast.SetChannelAttribute("Delay", StringValue("0ms"));
    fast.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000000p"));
    PointToPointHelper slow;
    slow.SetDeviceAttribute("DataRate", StringValue(rate));
    slow.SetChannelAttribute("Delay", TimeValue(Seconds(rtt / 2)));
    slow.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(std::to_string(queue) + "p"));
    auto near = fast.Install(nodes.Get(0), nodes.Get(1));
    auto far = slow.Install(nodes.Get(1), nodes.Get(2));
    InternetStackHelper stack;
    stack.Install(nodes);
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.1.0", "255.255.255.0");
    addresses.Assign(near);
    addresses.SetBase("10.0.2.0", "255.255.255.0");
    auto interfaces = addresses.Assign(far);
    // The queue under test is the device's; no queueing discipline above it.
    TrafficControlHelper none;
    none.Uninstall(near);
    none.Uninstall(far);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    if (loss > 0)
    {
        auto error = CreateObject<RateErrorModel>();
        error->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        error->SetRate(loss);
        near.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(error));
    }
    far.Get(1)->TraceConnectWithoutContext("MacRx", MakeCallback(&Delivered));
    far.Get(0)->TraceConnectWithoutContext("MacRx", MakeCallback(&Delivered));

    BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(interfaces.GetAddress(1), 80));
    source.SetAttribute("MaxBytes", UintegerValue(g_bytes));
    source.SetAttribute("SendSize", UintegerValue(1448));
    source.Install(nodes.Get(0)).Start(Seconds(0));
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 80));
    auto sinks = sink.Install(nodes.Get(2));
    sinks.Get(0)->TraceConnectWithoutContext("Rx", MakeCallback(&Received));

    Simulator::Schedule(MilliSeconds(1), &Watch);
    Simulator::Stop(Seconds(100000));
    auto started = std::clock();
    Simulator::Run();
    double cpu = double(std::clock() - started) / CLOCKS_PER_SEC;
    Simulator::Destroy();
    if (g_completed < 0)
    {
        std::cerr << "the transfer did not end" << std::endl;
        return 1;
    }
    std::cout << std::fixed << std::setprecision(6) << g_completed << "," << std::setprecision(0)
              << g_bytes * 8 / g_completed << "," << g_timeouts << "," << g_packets << "," << std::setprecision(4) << cpu << std::endl;
    return 0;
}
